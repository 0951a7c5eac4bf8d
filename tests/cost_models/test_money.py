from decimal import Decimal

from hypothesis import given, strategies as st

from perfledger_cost_models.money import to_decimal


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_becomes_the_decimal_that_reads_back_as_it(value):
    assert float(to_decimal(value)) == value


def test_a_float_becomes_its_shortest_decimal():
    assert to_decimal(0.1) == Decimal("0.1")
