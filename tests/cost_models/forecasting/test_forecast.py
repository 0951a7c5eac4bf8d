from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.forecasting.calendar_periods import PeriodLength, calendar_of
from perfledger_cost_models.forecasting.forecast import (
    QUANTILES,
    ForecastQuantity,
    SpendingBudget,
    backtest,
    forecast_of,
    longest_horizon,
    pinball,
)
from perfledger_cost_models.forecasting.past_periods import UsageHistory
from perfledger_cost_models.forecasting.sample_paths import ForecastError, sample_paths
from perfledger_cost_models.forecasting.seasonal_naive import seasonal_naive

MIDDLE = QUANTILES.index(0.5)


def months(amounts, *, usd=None):
    return UsageHistory(
        calendar=calendar_of(PeriodLength.MONTH, date(2024, 1, 1)),
        hours=None if amounts is None else tuple(map(float, amounts)),
        usd=None if usd is None else tuple(map(float, usd)),
    )


def noisy(count, *, seed=1, spread=0.1):
    return 1000 * np.exp(np.random.default_rng(seed).normal(0, spread, count))


def test_a_constant_history_goes_on_as_it_is():
    days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    forecast = forecast_of(months([24 * day for day in days]), ForecastQuantity.HOURS, horizon=2)

    january, february = forecast.periods
    assert january == pytest.approx([24 * 31] * len(QUANTILES))
    assert february == pytest.approx([24 * 28] * len(QUANTILES))
    assert (forecast.has_trend, forecast.has_season) == (False, False)


def test_a_history_of_nothing_forecasts_nothing():
    assert forecast_of(months([0] * 12), ForecastQuantity.HOURS, horizon=3).total == (0.0,) * 5


def test_a_cluster_that_was_switched_on_late_is_forecast_as_it_is_used_now():
    forecast = forecast_of(months([0.0] * 20 + [5000.0] * 4), ForecastQuantity.HOURS, horizon=6)

    assert np.isfinite(forecast.periods).all()
    assert all(4000 < each[MIDDLE] < 6500 for each in forecast.periods)


def test_after_a_shift_the_year_before_pulls_little_back():
    shifted = np.where(np.arange(36) < 30, 1000.0, 3000.0) * noisy(36, spread=0.05) / 1000

    forecast = forecast_of(months(shifted), ForecastQuantity.HOURS, horizon=6)

    assert all(2500 < each[MIDDLE] < 3500 for each in forecast.periods)


def test_growth_is_gone_on_with():
    grown = [1000 * 1.05**month for month in range(36)]

    forecast = forecast_of(months(grown), ForecastQuantity.HOURS, horizon=3)

    assert forecast.periods[0][MIDDLE] > grown[-1]


def test_a_course_of_the_year_is_found():
    course = np.array([1 + (month % 12 >= 9) / 2 for month in range(48)]) * noisy(48)

    forecast = forecast_of(months(course), ForecastQuantity.HOURS, horizon=12)

    middles = [each[MIDDLE] for each in forecast.periods]
    assert forecast.has_season
    assert min(middles[9:]) > 1.2 * max(middles[:9])


def test_what_is_farther_off_is_less_certain():
    walk = 1000 * np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.1, 48)))

    forecast = forecast_of(months(walk), ForecastQuantity.HOURS, horizon=12)

    widths = [each[-1] - each[0] for each in forecast.periods]
    assert widths[-1] > widths[0]


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.floats(0, 1e9), min_size=12, max_size=40),
    st.sampled_from([0, 12]),
    st.integers(1, 6),
)
def test_quantiles_are_in_order_and_no_history_breaks_it(amounts, season, horizon):
    paths = sample_paths(np.array(amounts), horizon=horizon, season=season).paths

    assert np.isfinite(paths).all()
    assert (paths >= 0).all()
    assert (np.diff(np.quantile(paths, QUANTILES, axis=0), axis=0) >= 0).all()


def test_the_wildest_history_stays_finite():
    wild = np.array([1e15, 0.0] * 60)

    paths = sample_paths(wild, horizon=60, season=0).paths

    assert np.isfinite(paths).all()


@pytest.mark.parametrize(
    ("amounts", "horizon", "says"),
    [
        ([1.0] * 11, 1, "history has 11"),
        ([1.0] * 2001, 1, "history has 2001"),
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
        sample_paths(np.array(amounts), horizon=horizon, season=12)


@pytest.mark.parametrize("horizon", [13, 10**12])
def test_a_horizon_beyond_the_calendar_says_why(horizon):
    with pytest.raises(ForecastError, match="at most half"):
        forecast_of(months([1] * 24), ForecastQuantity.HOURS, horizon=horizon)


def test_half_of_what_is_known_is_told_at_most():
    assert longest_horizon(25) == 12


def test_money_that_nothing_tells_of_is_an_error():
    with pytest.raises(ForecastError, match="has no usd"):
        forecast_of(months([1] * 12), ForecastQuantity.USD, horizon=1)


def test_a_budget_ends_where_the_money_does():
    history = months(None, usd=[31 * 10, 290, 310, 300, 310, 300, 310, 310, 300, 310, 300, 310])

    budget = forecast_of(
        history, ForecastQuantity.USD, horizon=3, budget=SpendingBudget(usd=Decimal(395))
    ).budget

    # 310 in January 2025, then 85 at 10 a day.
    assert budget is not None
    assert budget.days == (date(2025, 2, 9),) * 3
    assert budget.spent_usd == 0.0
    assert budget.chance == 1


def test_a_budget_counts_what_was_spent_since_its_first_day():
    history = months(None, usd=noisy(24))
    since = SpendingBudget(usd=Decimal(5000), since=date(2025, 10, 1))

    budget = forecast_of(history, ForecastQuantity.USD, horizon=12, budget=since).budget

    assert budget is not None
    early, middle, late = budget.days
    assert budget.spent_usd == pytest.approx(sum(history.usd[-3:]))
    assert early is not None
    assert middle is not None
    assert late is not None
    assert early <= middle <= late
    assert date(2026, 1, 1) < middle < date(2026, 4, 1)


def test_a_budget_that_is_spent_already_says_when():
    history = months(None, usd=[310.0] * 12)
    budget = SpendingBudget(usd=Decimal(470), since=date(2024, 10, 1))

    found_budget = forecast_of(history, ForecastQuantity.USD, horizon=1, budget=budget).budget

    assert found_budget is not None
    assert found_budget.days == (date(2024, 11, 16),) * 3
    assert found_budget.spent_usd == 930.0
    assert found_budget.chance == 1


def test_a_budget_may_outlast_the_forecast():
    history = months(None, usd=noisy(24))

    budget = forecast_of(
        history, ForecastQuantity.USD, horizon=2, budget=SpendingBudget(usd=Decimal(10**6))
    ).budget

    assert budget is not None
    assert (budget.days, budget.chance) == ((None, None, None), 0)


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        (SpendingBudget(usd=Decimal(0)), "above 0"),
        (SpendingBudget(usd=Decimal("NaN")), "above 0"),
        (SpendingBudget(usd=Decimal("Infinity")), "above 0"),
        (SpendingBudget(usd=Decimal(1), since=date(2023, 12, 1)), "2024-01-01 to 2025-01-01"),
        (SpendingBudget(usd=Decimal(1), since=date(2024, 5, 2)), "first day of a month"),
    ],
)
def test_a_budget_that_cannot_be_says_why(budget, says):
    with pytest.raises(ForecastError, match=says):
        forecast_of(months(None, usd=[1] * 12), ForecastQuantity.USD, horizon=1, budget=budget)


# Monthly totals of international airline passengers in thousands, 1949 to 1960: Box & Jenkins,
# "Time Series Analysis: Forecasting and Control", 1976, series G.
AIRLINE = """
112 118 132 129 121 135 148 148 136 119 104 118 115 126 141 135 125 149 170 170 158 133 114 140
145 150 178 163 172 178 199 199 184 162 146 166 171 180 193 181 183 218 230 242 209 191 172 194
196 196 236 235 229 243 264 272 237 211 180 201 204 188 235 227 234 264 302 293 259 229 203 229
242 233 267 269 270 315 364 347 312 274 237 278 284 277 317 313 318 374 413 405 355 306 271 306
315 301 356 348 355 422 465 467 404 347 305 336 340 318 362 348 363 435 491 505 404 359 310 337
360 342 406 396 420 472 548 559 463 407 362 405 417 391 419 461 472 535 622 606 508 461 390 432
"""
PASSENGERS = [int(each) for each in AIRLINE.split()]


@pytest.mark.slow(ci_only=True)
def test_the_last_year_of_the_airline_passengers_lies_in_its_interval():
    forecast = forecast_of(months(PASSENGERS[:-12]), ForecastQuantity.HOURS, horizon=12)

    inside = [
        low <= real <= high
        for (low, *_, high), real in zip(forecast.periods, PASSENGERS[-12:], strict=True)
    ]
    middles = [period[MIDDLE] for period in forecast.periods]
    assert sum(inside) >= 9
    assert middles == pytest.approx(PASSENGERS[-12:], rel=0.15)


@pytest.mark.slow(ci_only=True)
def test_the_forecast_of_the_airline_passengers_has_known_figures():
    """They rest on every constant of the models, their mixture and the calibration."""
    history = months(PASSENGERS[:-12])
    days = np.array([history.calendar.days(place) for place in range(len(PASSENGERS))])
    daily = np.array(PASSENGERS[:-12]) / days[:-12]

    found_sample_paths = sample_paths(daily, horizon=12, season=12)
    draws = found_sample_paths.paths * days[-12:]
    tested = backtest(daily, horizon=12, season=12)

    assert np.quantile(draws[:, 0], QUANTILES) == pytest.approx(
        (379.444887, 393.867180, 409.709826, 427.081441, 442.084996), rel=1e-6
    )
    assert np.quantile(draws.sum(axis=1), QUANTILES) == pytest.approx(
        (5522.331636, 5666.508630, 5831.286203, 5992.376875, 6162.818894), rel=1e-6
    )
    assert found_sample_paths.stretch == pytest.approx(1.147331776)
    assert found_sample_paths.origins == 94
    assert (found_sample_paths.has_trend, found_sample_paths.has_season) == (True, True)
    assert tested is not None
    assert (tested.origins, tested.periods, tested.inside) == (12, 78, 78)
    assert (tested.loss, tested.naive_loss) == pytest.approx((0.0195406049, 0.0176445221))


@pytest.mark.slow(ci_only=True)
def test_where_the_seasonal_naive_forecast_was_closer_it_is_used():
    """As for the airline passengers, whose year before plus the growth of the years is closer."""
    forecast = forecast_of(months(PASSENGERS[:-12]), ForecastQuantity.HOURS, horizon=12)

    assert forecast.backtest is not None
    assert forecast.backtest.is_naive_closer
    assert forecast.backtest.coverage == forecast.backtest.naive_inside / 78
    days = np.array([forecast.calendar.days(place) for place in range(132, 144)])
    past_days = np.array([forecast.calendar.days(place) for place in range(132)])
    expected = seasonal_naive(
        np.array(PASSENGERS[:-12]) / past_days, horizon=12, season=12, shares=QUANTILES
    )
    assert pytest.approx(expected * days, rel=1e-3) == np.array(forecast.periods).T


@pytest.mark.slow(ci_only=True)
def test_all_months_of_a_year_are_above_or_below_the_year_before_together():
    forecast = forecast_of(months(PASSENGERS[:-12]), ForecastQuantity.HOURS, horizon=12)

    assert forecast.total == pytest.approx(np.sum(forecast.periods, axis=0), rel=1e-3)


def test_a_naive_forecast_is_compared_only_where_it_looks_back_as_far_as_today():
    """Two years are known today, and were at the last of the earlier moments only."""
    tested = backtest(np.array([1.0] * 20 + [5.0] * 5), horizon=6, season=12)

    assert tested is not None
    assert not tested.is_naive_alike
    assert tested.compared_periods == 1
    assert tested.compared_naive_loss > tested.compared_loss  # a year before it was 1, now 5
    assert not tested.is_naive_closer


def test_without_a_comparable_moment_the_naive_forecast_is_not_used():
    tested = backtest(np.arange(1.0, 25.0), horizon=6, season=12)

    assert tested is not None
    assert (tested.compared_periods, tested.is_naive_closer) == (0, False)


def test_the_forecast_is_the_one_with_the_better_compared_score():
    """27 months that repeat their year: three moments have two years before them."""
    year = [100.0, 90.0, 130.0, 60.0, 150.0, 80.0, 120.0, 70.0, 140.0, 95.0, 105.0, 65.0]
    forecast = forecast_of(months([*year, *year, *year[:3]]), ForecastQuantity.HOURS, horizon=6)
    tested = forecast.backtest

    assert tested is not None
    assert (tested.is_naive_alike, tested.compared_periods) == (False, 6)
    assert tested.compared_naive_loss < tested.compared_loss
    assert tested.is_naive_closer
    assert tested.coverage == tested.compared_naive_inside / 6
    assert [period[MIDDLE] for period in forecast.periods] == pytest.approx(
        [
            hours * forecast.calendar.days(27 + place) / forecast.calendar.days(15 + place)
            for place, hours in enumerate(year[3:9])
        ],
        rel=0.01,
    )


def test_a_weekly_forecast_looks_back_a_year_of_52_weeks():
    year = [100.0 + 50.0 * (abs(week - 26) < 4) for week in range(52)]
    weeks = calendar_of(PeriodLength.WEEK, date(2024, 1, 1))
    history = UsageHistory(calendar=weeks, hours=tuple(year * 2), usd=None)

    forecast = forecast_of(history, ForecastQuantity.HOURS, horizon=30)

    middles = [period[MIDDLE] for period in forecast.periods]
    assert forecast.has_season
    assert max(middles[:20]) < 120 < min(middles[24:28])


@pytest.mark.parametrize("outcome", [0.0, 2.0])
def test_the_pinball_loss_of_one_unit_is_the_mean_of_the_shares_on_that_side(outcome):
    """Quantiles lie evenly about one half, so that it is one half on either side."""
    quantiles = np.ones((len(QUANTILES), 1))

    assert np.mean(QUANTILES) == pytest.approx(0.5)
    assert pinball(np.array([outcome]), quantiles) == pytest.approx(0.5)
