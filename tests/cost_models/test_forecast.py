"""Forecasts of made-up histories: what they must hold, and how often they come true."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.backtest import backtest, pinball
from perfledger_cost_models.forecast import (
    QUANTILES,
    Budget,
    Quantity,
    forecast_of,
    longest_horizon,
)
from perfledger_cost_models.history import History
from perfledger_cost_models.paths import ForecastError, paths_of
from perfledger_cost_models.period import Step, calendar_of
from perfledger_cost_models.smoothing import Weights
from perfledger_cost_models.year_before import seasonal_naive

MIDDLE = QUANTILES.index(0.5)


def months(amounts, *, usd=None):
    return History(
        calendar=calendar_of(Step.MONTH, date(2024, 1, 1)),
        hours=None if amounts is None else tuple(map(float, amounts)),
        usd=None if usd is None else tuple(map(float, usd)),
    )


def noisy(count, *, seed=1, spread=0.1):
    return 1000 * np.exp(np.random.default_rng(seed).normal(0, spread, count))


def test_a_constant_history_goes_on_as_it_is():
    days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    found = forecast_of(months([24 * day for day in days]), Quantity.HOURS, horizon=2)

    january, february = found.periods
    assert january == pytest.approx([24 * 31] * len(QUANTILES))
    assert february == pytest.approx([24 * 28] * len(QUANTILES))
    assert (found.has_trend, found.has_season) == (False, False)


def test_a_history_of_nothing_forecasts_nothing():
    assert forecast_of(months([0] * 12), Quantity.HOURS, horizon=3).total == (0.0,) * 5


def test_a_cluster_that_was_switched_on_late_is_forecast_as_it_is_used_now():
    found = forecast_of(months([0.0] * 20 + [5000.0] * 4), Quantity.HOURS, horizon=6)

    assert np.isfinite(found.periods).all()
    assert all(4000 < each[MIDDLE] < 6500 for each in found.periods)


def test_after_a_shift_the_year_before_pulls_little_back():
    shifted = np.where(np.arange(36) < 30, 1000.0, 3000.0) * noisy(36, spread=0.05) / 1000

    found = forecast_of(months(shifted), Quantity.HOURS, horizon=6)

    assert all(2500 < each[MIDDLE] < 3500 for each in found.periods)


def test_growth_is_gone_on_with():
    grown = [1000 * 1.05**month for month in range(36)]

    found = forecast_of(months(grown), Quantity.HOURS, horizon=3)

    assert found.has_trend
    assert found.periods[0][MIDDLE] > grown[-1]


def test_a_course_of_the_year_is_found():
    course = np.array([1 + (month % 12 >= 9) / 2 for month in range(48)]) * noisy(48)

    found = forecast_of(months(course), Quantity.HOURS, horizon=12)

    middles = [each[MIDDLE] for each in found.periods]
    assert found.has_season
    assert min(middles[9:]) > 1.2 * max(middles[:9])


def test_what_is_farther_off_is_less_certain():
    walk = 1000 * np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.1, 48)))

    found = forecast_of(months(walk), Quantity.HOURS, horizon=12)

    widths = [each[-1] - each[0] for each in found.periods]
    assert widths[-1] > widths[0]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.floats(0, 1e9), min_size=12, max_size=40),
    st.sampled_from([0, 12]),
    st.integers(1, 6),
)
def test_quantiles_are_in_order_and_no_history_breaks_it(amounts, season, horizon):
    drawn = paths_of(np.array(amounts), horizon=horizon, season=season).drawn

    assert np.isfinite(drawn).all()
    assert (drawn >= 0).all()
    assert (np.diff(np.quantile(drawn, QUANTILES, axis=0), axis=0) >= 0).all()


def test_the_wildest_history_stays_finite():
    wild = np.array([1e15, 0.0] * 60)

    drawn = paths_of(wild, horizon=60, season=0).drawn

    assert np.isfinite(drawn).all()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 100), st.sampled_from([1e-3, 7.0, 1e6]))
def test_another_unit_forecasts_the_same(seed, unit):
    series = noisy(24, seed=seed)

    here = paths_of(series, horizon=6, season=12).drawn
    there = paths_of(series * unit, horizon=6, season=12).drawn

    assert np.quantile(there, QUANTILES, axis=0) == pytest.approx(
        unit * np.quantile(here, QUANTILES, axis=0), rel=1e-6
    )


def test_the_same_history_gives_the_same_figures():
    one, other = (forecast_of(months(noisy(30)), Quantity.HOURS, horizon=6) for _ in range(2))

    assert one == other


def test_where_no_earlier_forecast_counts_the_width_is_that_of_one_step():
    found = paths_of(noisy(12), horizon=1, season=4)

    assert (found.origins, found.stretch) == (0, 1)


def test_reach_is_that_of_the_state_space_model():
    walk = Weights(1.0, 0.0, 0.0, 0.0, 0)
    seasonal = Weights(0.0, 0.0, 0.0, 1.0, 2)

    assert walk.reach(4) == pytest.approx(np.sqrt([1, 2, 3, 4]))
    assert seasonal.reach(4) == pytest.approx(np.sqrt([1, 1, 2, 2]))
    assert Weights(0.5, 0.2, 0.9, 0.0, 0).reach(3) == pytest.approx(
        np.sqrt([1, 1 + 0.68**2, 1 + 0.68**2 + (0.5 + 0.2 * (0.9 + 0.81)) ** 2])
    )


@pytest.mark.parametrize(
    ("amounts", "horizon", "says"),
    [
        ([1.0] * 11, 1, "history of 11"),
        ([1.0] * 2001, 1, "history of 2001"),
        ([1.0] * 12, 7, "at most half"),
        ([1.0] * 12, 0, "at most half"),
        ([*([1.0] * 12), -1.0], 1, "between 0"),
        ([*([1.0] * 12), float("nan")], 1, "between 0"),
        ([*([1.0] * 12), float("inf")], 1, "between 0"),
        ([*([1.0] * 12), 1e16], 1, "between 0"),
    ],
)
def test_what_cannot_be_forecast_says_why(amounts, horizon, says):
    with pytest.raises(ForecastError, match=says):
        paths_of(np.array(amounts), horizon=horizon, season=12)


@pytest.mark.parametrize("horizon", [13, 10**12])
def test_a_horizon_beyond_the_calendar_says_why(horizon):
    with pytest.raises(ForecastError, match="at most half"):
        forecast_of(months([1] * 24), Quantity.HOURS, horizon=horizon)


def test_half_of_what_is_known_is_told_at_most():
    assert longest_horizon(25) == 12


def test_money_that_nothing_tells_of_is_an_error():
    with pytest.raises(ForecastError, match="tells usd"):
        forecast_of(months([1] * 12), Quantity.USD, horizon=1)


def test_a_budget_ends_where_the_money_does():
    history = months(None, usd=[31 * 10, 290, 310, 300, 310, 300, 310, 310, 300, 310, 300, 310])

    found = forecast_of(history, Quantity.USD, horizon=3, budget=Budget(usd=Decimal(395))).budget

    # 310 in January 2025, then 85 at 10 a day.
    assert found is not None
    assert found.days == (date(2025, 2, 9),) * 3
    assert (found.spent_usd, found.chance) == (0, 1)


def test_a_budget_counts_what_was_spent_since_its_first_day():
    history = months(None, usd=noisy(24))
    since = Budget(usd=Decimal(5000), since=date(2025, 10, 1))

    found = forecast_of(history, Quantity.USD, horizon=12, budget=since).budget

    assert found is not None
    early, middle, late = found.days
    assert found.spent_usd == pytest.approx(sum(history.usd[-3:]))
    assert early is not None
    assert middle is not None
    assert late is not None
    assert early <= middle <= late
    assert date(2026, 1, 1) < middle < date(2026, 4, 1)


def test_a_budget_that_is_spent_already_says_when():
    history = months(None, usd=[310.0] * 12)
    budget = Budget(usd=Decimal(470), since=date(2024, 10, 1))

    found = forecast_of(history, Quantity.USD, horizon=1, budget=budget).budget

    assert found is not None
    assert found.days == (date(2024, 11, 16),) * 3


def test_a_budget_may_outlast_the_forecast():
    history = months(None, usd=noisy(24))

    found = forecast_of(history, Quantity.USD, horizon=2, budget=Budget(usd=Decimal(10**6))).budget

    assert found is not None
    assert (found.days, found.chance) == ((None, None, None), 0)


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (Budget(usd=Decimal(0)), "above 0"),
        (Budget(usd=Decimal("NaN")), "above 0"),
        (Budget(usd=Decimal("Infinity")), "above 0"),
        (Budget(usd=Decimal(1), since=date(2023, 12, 1)), "2024-01-01 to 2025-01-01"),
        (Budget(usd=Decimal(1), since=date(2024, 5, 2)), "first day of a month"),
    ],
)
def test_a_budget_that_cannot_be_says_why(budget, says):
    with pytest.raises(ForecastError, match=says):
        forecast_of(months(None, usd=[1] * 12), Quantity.USD, horizon=1, budget=budget)


def test_pinball_counts_what_was_missed_by_side():
    quantiles = np.full((5, 1), 10.0)

    assert pinball(np.array([12.0]), quantiles) == pytest.approx(2 * 0.5)
    assert pinball(np.array([10.0]), quantiles) == 0


def test_the_naive_forecast_is_the_year_before():
    series = np.tile(np.arange(1.0, 13.0), 3)

    (middle,) = seasonal_naive(series, horizon=14, season=12, shares=(0.5,))

    assert middle == pytest.approx([*range(1, 13), 1, 2])


def test_a_backtest_knows_nothing_of_what_came_later():
    series = noisy(30)
    later = np.concatenate([series[:-1], [50 * series[-1]]])

    one, other = (backtest(each, horizon=1, season=12) for each in (series, later))

    assert one is not None
    assert other is not None
    assert (one.origins, one.told) == (12, 12)
    assert one.inside - other.inside in {0, 1}
    assert backtest(noisy(12), horizon=6, season=12) is None


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, 60])
def test_eight_of_ten_come_true(count):
    inside = told = 0
    for seed in range(60):
        rng = np.random.default_rng((seed, count))
        trend = np.exp(rng.uniform(-0.01, 0.04) * np.arange(count + 6))
        series = trend * noisy(count + 6, seed=seed, spread=rng.uniform(0.05, 0.2))
        drawn = paths_of(series[:count], horizon=6, season=12).drawn
        low, high = np.quantile(drawn, [0.1, 0.9], axis=0)
        inside += int(((low <= series[count:]) & (series[count:] <= high)).sum())
        told += 6

    assert 0.7 <= inside / told <= 0.9
