import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from perfledger_cost_models.discounting import (
    CashFlows,
    DiscountingError,
    capital_recovery_factor,
    internal_rate_of_return,
    monthly_worth,
    payback_years,
    present_value,
    sinking_fund_factor,
)

PER_YEAR = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
interests = st.floats(-0.5, 1.0)


def paid_once(*flows):
    """Return flows now and at the end of each year, with nothing by the month."""
    return CashFlows(once=flows, monthly=(0.0,) * (len(flows) - 1))


def by_the_month(now, *years):
    """Return a payment now, and what each year pays in 12 parts."""
    return CashFlows(once=(now, *[0.0] * len(years)), monthly=years)


@st.composite
def cash_flows(draw):
    years = draw(st.lists(PER_YEAR, max_size=11))
    now = draw(st.floats(-1e6, 1e6))
    return CashFlows(
        once=(now, *(once for once, _ in years)), monthly=tuple(paid for _, paid in years)
    )


SERVER = by_the_month(-320_000.0, 110_000.0, 110_000.0, 110_000.0, 110_000.0)


@pytest.mark.parametrize(
    ("interest", "years", "by_year"), [(0.085, 5, 0.253766), (0.1, 10, 0.162745), (0.0, 4, 0.25)]
)
def test_the_capital_recovery_factor_is_that_of_the_tables_by_the_month(interest, years, by_year):
    found_capital_recovery_factor = capital_recovery_factor(
        np.array([interest]), np.array([float(years)])
    )

    nominal_share = 12 * ((1 + interest) ** (1 / 12) - 1) / interest if interest else 1.0
    assert found_capital_recovery_factor[0] == pytest.approx(by_year * nominal_share, abs=1e-6)


@given(st.floats(0.001, 0.5), st.floats(1, 30))
def test_both_factors_are_their_formulas_and_differ_by_the_nominal_rate(interest, years):
    r, n = np.array([interest]), np.array([years])
    recovery, sinking = capital_recovery_factor(r, n)[0], sinking_fund_factor(r, n)[0]

    nominal = 12 * ((1 + interest) ** (1 / 12) - 1)
    assert recovery == pytest.approx(nominal / (1 - (1 + interest) ** -years))
    assert sinking == pytest.approx(nominal / ((1 + interest) ** years - 1))
    assert recovery - sinking == pytest.approx(nominal)


@given(st.one_of(st.just(0.0), st.floats(5e-324, 1e-7)), st.floats(1, 30))
def test_without_interest_a_year_costs_an_nth(interest, years):
    for factor in (capital_recovery_factor, sinking_fund_factor):
        assert factor(np.array([interest]), np.array([years]))[0] == pytest.approx(1 / years, 1e-5)


@given(interests, st.floats(-1e6, 1e6))
def test_a_year_by_the_month_is_worth_its_twelve_payments(interest, usd):
    expected = math.fsum(usd / 12 / (1 + interest) ** (month / 12) for month in range(1, 13))

    assert usd * monthly_worth(np.array([interest]))[0] == pytest.approx(expected, 1e-12, 1e-9)
    assert present_value(by_the_month(0.0, usd), rate_per_year=interest) == pytest.approx(
        expected, 1e-12, 1e-9
    )


def test_three_years_of_hours_are_worth_36_payments():
    """40 devices at 2.972125 USD an hour and 8.5 %: 86,786 USD a month, 31.825 times that today."""
    year = 40 * 8760 * 2.972125

    found_present_value = present_value(by_the_month(0.0, year, year, year), rate_per_year=0.085)

    assert found_present_value == pytest.approx(year / 12 * 31.82469, rel=1e-6)
    assert found_present_value > 3 * 40 * 8760 * 20.695 / 8  # paid upfront they cost less
    assert found_present_value == pytest.approx(2_761_939, abs=1)


def test_a_present_value_is_that_worked_out_by_hand():
    flows = paid_once(-100.0, 60.0, 60.0)

    assert present_value(flows, rate_per_year=0.1) == pytest.approx(4.1322314, 1e-8)


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
    assert internal_rate_of_return(paid_once(*payments)) == pytest.approx(expected, abs=5e-5)


def test_a_present_value_is_that_of_numpy_financials_reference():
    flows = paid_once(-40_000, 5_000, 8_000, 12_000, 30_000)

    assert present_value(flows, rate_per_year=0.08) == pytest.approx(3065.22267, abs=5e-6)


def test_a_mortgages_monthly_payment_is_that_of_numpy_financials_reference():
    """200,000 at 7.5 % a year over 15 years, paid by the month: 1,854.02."""
    effective = (1 + 0.075 / 12) ** 12 - 1
    found_capital_recovery_factor = capital_recovery_factor(np.array([effective]), np.array([15.0]))

    assert 200_000 * found_capital_recovery_factor[0] / 12 == pytest.approx(
        1854.0247200054619, rel=1e-12
    )


@given(cash_flows(), interests, st.floats(-10, 10))
def test_a_present_value_is_linear_in_the_flows(flows, interest, factor):
    scaled = CashFlows(
        once=tuple(factor * flow for flow in flows.once),
        monthly=tuple(factor * flow for flow in flows.monthly),
    )
    size = max(1.0, *map(abs, (*flows.once, *flows.monthly, 0.0))) * 2.0 ** len(flows.once) * 20

    assert present_value(scaled, rate_per_year=interest) == pytest.approx(
        factor * present_value(flows, rate_per_year=interest), abs=1e-9 * size
    )


@given(st.floats(0.0, 0.5), st.integers(1, 30))
def test_what_the_capital_recovery_factor_repays_is_worth_what_was_borrowed(interest, years):
    part = float(capital_recovery_factor(np.array([interest]), np.array([float(years)]))[0])
    flows = by_the_month(-1.0, *[part] * years)

    assert present_value(flows, rate_per_year=interest) == pytest.approx(0, abs=1e-9)


def test_the_internal_rate_of_return_is_that_worked_out_by_hand():
    internal_rate = internal_rate_of_return(paid_once(-100.0, 60.0, 60.0))

    assert internal_rate == pytest.approx((0.6 + math.sqrt(0.36 + 2.4)) / 2 - 1, rel=1e-12)


def test_money_by_the_month_returns_more_than_at_the_years_end():
    """12 payments of 10 for 100 now: 2.9229 % a month, 41.3 % a year; at the year's end 20 %."""
    internal_rate = internal_rate_of_return(by_the_month(-100.0, 120.0))

    assert internal_rate == pytest.approx(1.0292285**12 - 1, rel=1e-5)
    assert internal_rate_of_return(paid_once(-100.0, 120.0)) == pytest.approx(0.2)


@given(st.floats(0.01, 2.0), st.integers(1, 15))
def test_at_the_internal_rate_of_return_the_present_value_is_zero(income, years):
    flows = by_the_month(-1.0, *[income] * years)
    assume(income * years > 0.05)

    internal_rate = internal_rate_of_return(flows)

    assert internal_rate is not None
    assert present_value(flows, rate_per_year=internal_rate) == pytest.approx(0, abs=1e-9)


def test_a_return_of_exactly_nothing_is_found():
    assert internal_rate_of_return(paid_once(-100.0, 50.0, 50.0)) == pytest.approx(0, abs=1e-12)


def test_the_whole_stake_lost_but_a_hundredth_is_a_return():
    assert internal_rate_of_return(paid_once(-100.0, 1.0)) == pytest.approx(-0.99)


@pytest.mark.parametrize("payments", [(100.0, 50.0), (-100.0,), (-100.0, 0.0)])
def test_flows_that_never_change_sign_have_no_return(payments):
    assert internal_rate_of_return(paid_once(*payments)) is None


def test_flows_with_two_returns_have_none():
    assert internal_rate_of_return(paid_once(-100.0, 230.0, -132.0)) is None


def test_money_by_the_month_comes_evenly_within_the_year_that_repays():
    assert payback_years(SERVER) == pytest.approx(320 / 110)


def test_money_at_a_years_end_repays_then():
    assert payback_years(paid_once(-100.0, 80.0, 80.0)) == 2.0
    assert payback_years(CashFlows(once=(-100.0, 0.0, 50.0), monthly=(40.0, 40.0))) == 2.0


def test_what_is_not_repaid_has_no_payback():
    assert payback_years(by_the_month(-320_000.0, 110_000.0)) is None


def test_what_costs_nothing_is_repaid_at_once():
    assert payback_years(by_the_month(0.0, 110_000.0)) == 0.0


def test_a_later_repair_makes_the_payback_the_last_one():
    assert payback_years(by_the_month(-100.0, 150.0, -100.0, 100.0)) == pytest.approx(2.5)


def test_a_year_is_what_comes_by_the_month_and_at_its_end():
    flows = CashFlows(once=(-3.0, 1.0, 2.0), monthly=(10.0, 20.0))

    assert flows.by_year == (-3.0, 11.0, 22.0)


@pytest.mark.parametrize(
    ("once", "monthly"),
    [((), ()), ((math.nan,), ()), ((1.0, math.inf), (0.0,)), ((1.0, 2.0), ()), ((1.0,), (2.0,))],
)
def test_flows_that_are_no_numbers_or_not_of_the_same_years_are_refused(once, monthly):
    with pytest.raises(DiscountingError, match="one for each year"):
        CashFlows(once=once, monthly=monthly)


@pytest.mark.parametrize("interest", [-1.0, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused(interest):
    with pytest.raises(DiscountingError, match="above -1"):
        present_value(paid_once(1.0), rate_per_year=interest)


@pytest.mark.parametrize(
    ("payments", "years"),
    [((-1.0, 0.9), None), ((-0.4, 0.5), 0.8), ((-0.4, -0.1, 0.5), 2.0), ((0.0, 1.0), 0.0)],
)
def test_sums_below_one_are_repaid_or_not_as_larger_ones(payments, years):
    found_payback_years = payback_years(by_the_month(*payments))

    assert found_payback_years == (None if years is None else pytest.approx(years))


@pytest.mark.parametrize("rate", [-0.9, -0.5, 0.99, 1.0, 1.01, 50.0, 99.0])
def test_a_return_is_exact_over_the_whole_range(rate):
    internal_rate = internal_rate_of_return(paid_once(-100.0, 100.0 * (1 + rate)))

    assert internal_rate == pytest.approx(rate, rel=1e-9)


def test_a_return_beyond_the_range_is_none():
    assert internal_rate_of_return(paid_once(-1.0, 102.0)) is None
    assert internal_rate_of_return(paid_once(-1.0, 0.0005)) is None
