from decimal import ROUND_UP, Decimal, localcontext
from math import inf, nan

import pytest
from hypothesis import given, settings, strategies as st

from perfledger import rounding

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e14, max_value=1e14)


def plain_text(text: str) -> str:
    return text.replace(rounding.NBSP, " ").replace("\N{MULTIPLICATION SIGN}", "x")


@pytest.mark.parametrize(
    ("value", "most", "expected"),
    [
        (23_360.4, 4, "23,360"),
        (113_316.0, 4, "113,300"),
        (68_214.0, 3, "68,200"),
        (1.5, 4, "1.5"),
        (0.25, 3, "0.25"),
        (100.0, 3, "100"),
        (0.00001234, 2, "0.000012"),
        (9999.6, 4, "10,000"),
        (-1234.5, 4, "-1,234"),
        (-0.0, 4, "0"),
        (Decimal("0.0031"), 2, "0.0031"),
        (1e-9, 3, "0.000000001"),
        (9.9e-10, 3, "9.9 x 10⁻¹⁰"),
        (999_999_999_999_999.0, 15, "999,999,999,999,999"),
        (1e15, 3, "1 x 10¹⁵"),
        (-2.5e20, 3, "-2.5 x 10²⁰"),
        (nan, 3, "not known"),
        (inf, 3, "not known"),
        (1e100, 3, "not known"),
    ],
)
def test_digits(value, most, expected):
    assert plain_text(rounding.digits(value, most)) == expected


@given(finite)
@settings(max_examples=200, deadline=None)
def test_a_number_is_written_without_an_exponent_and_off_by_half_a_digit_at_most(value):
    digits = rounding.digits(value)

    if abs(value) >= 1e-9:
        assert not digits.strip("-0123456789,.")
        assert float(digits.replace(",", "")) == pytest.approx(value, rel=5.1e-4)


def test_typed_numbers_keep_six_digits():
    assert rounding.typed(2500) == "2,500"
    assert rounding.typed(0.1 + 0.2) == "0.3"
    assert rounding.typed(1_234_567.0) == "1,234,570"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-3.0, "0 s"),
        (0.4, "0 s"),
        (60.0, "60 s"),
        (119.4, "119 s"),
        (120.0, "2 minutes"),
        (150.0, "2.5 minutes"),
        (600.0, "10 minutes"),
        (3599.2, "60 minutes"),
        (40_320 * 60.0, "40,320 minutes"),
    ],
)
def test_minutes_have_no_singular_and_no_digits_that_nobody_needs(seconds, expected):
    assert rounding.minutes(seconds) == expected


@pytest.mark.parametrize(
    ("value", "places", "expected"),
    [
        (1234.5, 2, "1,234.50"),
        (Decimal("0.125"), 2, "0.12"),
        (Decimal("-0.001"), 2, "0.00"),
        (-0.4, 0, "0"),
        (36_288.4, 0, "36,288"),
        (1e15, 1, "1.00 x 10¹⁵"),
        (Decimal("-1e15"), 1, "-1.00 x 10¹⁵"),
        (Decimal("NaN"), 1, "not known"),
        (-inf, 1, "not known"),
    ],
)
def test_decimals(value, places, expected):
    assert plain_text(rounding.decimals(value, places)) == expected


def test_decimals_are_rounded_half_to_even_in_any_context():
    with localcontext(rounding=ROUND_UP, prec=3):
        assert rounding.decimals(Decimal("12345.645"), 2) == "12,345.64"
        assert rounding.integer(Decimal("12345.1")) == "12,345"


def test_exact_amounts_keep_all_digits():
    assert rounding.exact(Decimal("1234.1200")) == "1,234.1200"
    assert rounding.exact(Decimal("1e2").normalize()) == "100"


@pytest.mark.parametrize(
    ("value", "most", "expected"),
    [
        (0.15, 6, "0.15"),
        (25.0, 6, "25"),
        (1_234_567.8, 15, "1234567.8"),
        (2e20, 6, "200000000000000000000"),
        (1e-7, 6, "0.0000001"),
    ],
)
def test_programs_read_numbers_without_separators_or_exponents(value, most, expected):
    assert rounding.for_programs(value, most) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.0, "0 %"),
        (0.00083, "0.083 %"),
        (0.054, "5.4 %"),
        (0.05, "5 %"),
        (0.0996, "10 %"),
        (0.837, "84 %"),
        (0.99, "99 %"),
        (0.9962, "99.6 %"),
        (0.9997, "100 %"),
        (1.0, "100 %"),
        (12.344, "1,234 %"),
        (-0.054, "-5.4 %"),
        (Decimal("0.05"), "5 %"),
        (nan, "not known"),
        (inf, "not known"),
    ],
)
def test_a_percentage_has_the_digits_that_it_deserves(share, expected):
    assert rounding.percentage(share) == expected


@pytest.mark.parametrize(
    ("value", "text", "sentence"),
    [
        (0.00001, "< 0.0001", "p below 0.0001"),
        (0.0001, "0.0001", "p = 0.0001"),
        (0.0123, "0.012", "p = 0.012"),
        (1.0, "1", "p = 1"),
        (nan, "not known", "p = not known"),
    ],
)
def test_a_small_p_value_is_a_bound(value, text, sentence):
    assert plain_text(rounding.probability(value)) == text
    assert rounding.p_value(value) == sentence
