from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.money import to_decimal, without_noise


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_becomes_the_decimal_that_reads_back_as_it(value):
    assert float(to_decimal(value)) == value


def test_a_float_becomes_its_shortest_decimal():
    assert to_decimal(0.1) == Decimal("0.1")


@pytest.mark.parametrize(
    ("value", "money"),
    [
        (6.589999999999918, "6.59"),
        (0.0, "0"),
        (-0.0, "0"),
        (5, "5"),
        (100.0, "100"),
        (1234.567, "1234.57"),
        (-342267.4034, "-342267.4"),
        (123_456_789.126, "123456789.13"),
        (0.000123456789, "0.000123457"),
        (9.9999999, "10"),
        (1e20, "100000000000000000000"),
    ],
)
def test_an_amount_has_cents_or_six_digits(value, money):
    assert f"{without_noise(value):f}" == money


@given(st.floats(min_value=-1e12, max_value=1e12))
def test_an_amount_without_noise_is_less_than_a_cent_and_a_millionth_away(value):
    assert abs(float(without_noise(value)) - value) <= max(1e-300, 5.1e-6 * abs(value))
    assert abs(float(without_noise(value)) - value) <= 0.00501


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_amount(value):
    with pytest.raises(ValueError, match="is not an amount of money"):
        without_noise(value)
