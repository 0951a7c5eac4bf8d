import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from perfledger_cost_models.finance import (
    FinanceError,
    capital_recovery_factor,
    internal_rate_of_return,
    payback_years,
    present_value,
    sinking_fund_factor,
)

SERVER = (-320_000.0, 110_000.0, 110_000.0, 110_000.0, 110_000.0)
flows = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12)
interests = st.floats(-0.5, 1.0)


@pytest.mark.parametrize(
    ("interest", "years", "expected"), [(0.085, 5, 0.253766), (0.1, 10, 0.162745), (0.0, 4, 0.25)]
)
def test_the_capital_recovery_factor_is_that_of_the_tables(interest, years, expected):
    found = capital_recovery_factor(np.array([interest]), np.array([float(years)]))

    assert found[0] == pytest.approx(expected, abs=1e-6)


@given(st.floats(0.001, 0.5), st.floats(1, 30))
def test_both_factors_are_their_formulas_and_differ_by_the_interest(interest, years):
    r, n = np.array([interest]), np.array([years])
    recovery, sinking = capital_recovery_factor(r, n)[0], sinking_fund_factor(r, n)[0]

    assert recovery == pytest.approx(interest / (1 - (1 + interest) ** -years))
    assert sinking == pytest.approx(interest / ((1 + interest) ** years - 1))
    assert recovery - sinking == pytest.approx(interest)


@given(st.floats(1e-300, 1e-7), st.floats(1, 30))
def test_without_interest_a_year_costs_an_nth(interest, years):
    for factor in (capital_recovery_factor, sinking_fund_factor):
        assert factor(np.array([interest]), np.array([years]))[0] == pytest.approx(1 / years, 1e-5)


def test_a_present_value_is_that_worked_out_by_hand():
    assert present_value((-100.0, 60.0, 60.0), rate_per_year=0.1) == pytest.approx(4.1322314, 1e-8)


# The examples of numpy-financial's reference, https://numpy.org/numpy-financial/latest/.
@pytest.mark.parametrize(
    ("payments", "expected"),
    [
        ((-100, 39, 59, 55, 20), 0.28095),
        ((-100, 0, 0, 74), -0.0955),
        ((-100, 100, 0, 7), 0.06206),
    ],
)
def test_returns_are_those_of_numpy_financials_reference(payments, expected):
    assert internal_rate_of_return(payments) == pytest.approx(expected, abs=5e-5)


def test_a_present_value_is_that_of_numpy_financials_reference():
    found = present_value((-40_000, 5_000, 8_000, 12_000, 30_000), rate_per_year=0.08)

    assert found == pytest.approx(3065.22267, abs=5e-6)


def test_a_mortgages_monthly_payment_is_that_of_numpy_financials_reference():
    """200,000 at 7.5 % a year over 15 years, paid by the month: 1,854.02."""
    found = capital_recovery_factor(np.array([0.075 / 12]), np.array([12.0 * 15]))

    assert 200_000 * found[0] == pytest.approx(1854.0247200054619, rel=1e-12)


@given(flows, interests, st.floats(-10, 10))
def test_a_present_value_is_linear_in_the_flows(payments, interest, factor):
    scaled = [factor * payment for payment in payments]
    size = max(1.0, *(abs(payment) for payment in payments)) * 2.0 ** len(payments) * 10

    assert present_value(scaled, rate_per_year=interest) == pytest.approx(
        factor * present_value(payments, rate_per_year=interest), abs=1e-9 * size
    )


@given(st.floats(0.0, 0.5), st.integers(1, 30))
def test_what_the_capital_recovery_factor_repays_is_worth_what_was_borrowed(interest, years):
    part = float(capital_recovery_factor(np.array([interest]), np.array([float(years)]))[0])

    assert present_value((-1.0, *[part] * years), rate_per_year=interest) == pytest.approx(
        0, abs=1e-9
    )


def test_the_internal_rate_of_return_is_that_worked_out_by_hand():
    found = internal_rate_of_return((-100.0, 60.0, 60.0))

    assert found == pytest.approx((0.6 + math.sqrt(0.36 + 2.4)) / 2 - 1, rel=1e-12)


@given(st.floats(0.01, 2.0), st.integers(1, 15))
def test_at_the_internal_rate_of_return_the_present_value_is_zero(income, years):
    payments = (-1.0, *[income] * years)
    assume(income * years > 0.05)

    found = internal_rate_of_return(payments)

    assert found is not None
    assert present_value(payments, rate_per_year=found) == pytest.approx(0, abs=1e-9)


def test_a_return_of_exactly_nothing_is_found():
    assert internal_rate_of_return((-100.0, 50.0, 50.0)) == pytest.approx(0, abs=1e-12)


def test_the_whole_stake_lost_but_a_hundredth_is_a_return():
    assert internal_rate_of_return((-100.0, 1.0)) == pytest.approx(-0.99)


@pytest.mark.parametrize("payments", [(100.0, 50.0), (-100.0,), (-100.0, 0.0)])
def test_flows_that_never_change_sign_have_no_return(payments):
    assert internal_rate_of_return(payments) is None


def test_flows_with_two_returns_have_none():
    assert internal_rate_of_return((-100.0, 230.0, -132.0)) is None


def test_money_comes_evenly_within_the_year_that_repays():
    assert payback_years(SERVER) == pytest.approx(320 / 110)


def test_what_is_not_repaid_has_no_payback():
    assert payback_years((-320_000.0, 110_000.0)) is None


def test_what_costs_nothing_is_repaid_at_once():
    assert payback_years((0.0, 110_000.0)) == 0.0


def test_a_later_repair_makes_the_payback_the_last_one():
    assert payback_years((-100.0, 150.0, -100.0, 100.0)) == pytest.approx(2.5)


@pytest.mark.parametrize("payments", [(), (math.nan,), (1.0, math.inf)])
def test_flows_that_are_no_numbers_are_refused(payments):
    with pytest.raises(FinanceError, match="give one for each year"):
        present_value(payments, rate_per_year=0.1)


@pytest.mark.parametrize("interest", [-1.0, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused(interest):
    with pytest.raises(FinanceError, match="above -1"):
        present_value((1.0,), rate_per_year=interest)


@pytest.mark.parametrize(
    ("payments", "years"),
    [((-1.0, 0.9), None), ((-0.4, 0.5), 0.8), ((-0.4, -0.1, 0.5), 2.0), ((0.0, 1.0), 0.0)],
)
def test_sums_below_one_are_repaid_or_not_as_larger_ones(payments, years):
    assert payback_years(payments) == (None if years is None else pytest.approx(years))


@pytest.mark.parametrize("rate", [-0.9, -0.5, 0.99, 1.0, 1.01, 50.0, 99.0])
def test_a_return_is_exact_over_the_whole_range(rate):
    assert internal_rate_of_return((-100.0, 100.0 * (1 + rate))) == pytest.approx(rate, rel=1e-9)


def test_a_return_beyond_the_range_is_none():
    assert internal_rate_of_return((-1.0, 102.0)) is None
    assert internal_rate_of_return((-1.0, 0.0005)) is None
