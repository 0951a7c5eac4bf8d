from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.money import to_decimal, to_words


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_becomes_the_decimal_that_reads_back_as_it(value):
    assert float(to_decimal(value)) == value


def test_a_float_becomes_its_shortest_decimal():
    assert to_decimal(0.1) == Decimal("0.1")


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        ("0", "0"),
        ("1234567.6", "+1,234,568"),
        ("-1234.5", "\N{MINUS SIGN}1,234"),
        ("100", "+100"),
        ("99.994", "+99.99"),
        ("-0.5", "\N{MINUS SIGN}0.50"),
    ],
)
def test_an_amount_is_said_with_its_sign_and_cents_only_where_they_matter(usd, words):
    assert to_words(Decimal(usd)) == words
