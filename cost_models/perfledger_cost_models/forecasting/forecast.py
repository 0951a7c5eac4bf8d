"""Forecasts the next periods' hours or spend, their sum, and the day that a budget is spent.

Months differ in length by a tenth, so the forecast is of the daily amount times a period's days.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

import numpy as np

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.forecasting.calendar_periods import PeriodCalendar
from perfledger_cost_models.forecasting.outliers import (
    PeriodOutlier,
    outliers_of,
    without_outliers,
)
from perfledger_cost_models.forecasting.past_periods import UsageHistory
from perfledger_cost_models.forecasting.sample_paths import (
    MIN_PERIODS,
    ForecastError,
    SamplePaths,
    naive_paths,
    sample_paths,
)
from perfledger_cost_models.forecasting.seasonal_naive import naive_lag, seasonal_naive
from perfledger_cost_models.money import Usd
from perfledger_cost_models.quote import HourlyRate

# P10 to P90 is the calibrated interval; P50 is a budget, P90 less P50 its contingency.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
P10, _, P50, _, P90 = QUANTILES
LOW, MIDDLE, HIGH = map(QUANTILES.index, (P10, P50, P90))

# Earlier moments to forecast from: each takes a complete forecast.
MAX_ORIGINS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The accuracy of earlier forecasts; losses are shares of the mean amount."""

    origins: int
    periods: int  # over all origins
    inside: int  # periods in the 80 % interval
    loss: float
    naive_inside: int
    naive_loss: float
    is_naive_alike: bool  # every naive forecast looked as far back as one from today does
    # The same over the origins with such a forecast, on which the two are compared.
    compared_periods: int
    compared_loss: float
    compared_naive_inside: int
    compared_naive_loss: float

    @property
    def is_naive_closer(self) -> bool:
        """Return whether the seasonal naive forecast was closer, and is used."""
        return self.compared_periods > 0 and self.compared_naive_loss < self.compared_loss

    @property
    def coverage(self) -> float:
        """Return the share of periods in the 80 % interval of the forecast that is used."""
        if self.is_naive_closer:
            return self.compared_naive_inside / self.compared_periods
        return self.inside / self.periods


class ForecastQuantity(StrEnum):
    """The quantity to forecast."""

    HOURS = "hours"  # of devices
    USD = "usd"

    def amounts(self, values: Iterable[float]) -> tuple[float, ...]:
        """Return amounts of this quantity; those of USD have the type of money."""
        return tuple(map(Usd if self is ForecastQuantity.USD else float, values))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingBudget:
    """A budget from the first day of a period on."""

    usd: Decimal
    since: date | None = None  # None: from the first forecast period


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDay:
    """The day on which a budget is spent: early (P10), most likely and late (P90).

    A day is None if the budget lasts beyond the forecast periods.
    """

    budget: SpendingBudget
    spent_usd: Usd  # before the forecast starts
    days: tuple[date | None, date | None, date | None]
    chance: float  # probability that it is spent within the forecast periods


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The forecast of the next periods; quantiles are those of QUANTILES."""

    quantity: ForecastQuantity
    calendar: PeriodCalendar
    past: tuple[float, ...]  # money has the type Usd, here and below
    periods: tuple[tuple[float, ...], ...]  # quantiles of each period
    total: tuple[float, ...]  # of their sum
    has_trend: bool
    has_season: bool
    stretch: float
    origins: int  # earlier forecasts that determine the interval's width
    backtest: Backtest | None  # None if the history is too short
    budget: BudgetDay | None = None
    outliers: tuple[PeriodOutlier, ...] = ()  # they count in the forecast
    # The quantiles of the sum with the usual amount in their place; None without outliers.
    total_without_outliers: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """The forecasts of one history: of its hours, its money, or both."""

    name: str  # of the files
    forecasts: tuple[Forecast, ...]
    rate: HourlyRate | None  # the rate that prices the hours, instead of recorded costs


def longest_horizon(periods: int) -> int:
    """Return how many periods can be forecast: half of the known ones."""
    return periods // 2


def forecast_of(
    history: UsageHistory,
    quantity: ForecastQuantity,
    *,
    horizon: int,
    budget: SpendingBudget | None = None,
) -> Forecast:
    """Forecast the next `horizon` periods. Raises ForecastError.

    The seasonal naive forecast is used if it was closer in the backtest. A budget needs a history
    of spend that covers its first day.
    """
    amounts = _amounts(history, quantity)
    calendar, count = history.calendar, len(amounts)
    daily = np.array(amounts) / _days(calendar, range(count))
    season = calendar.step.season
    tested, paths = _tested_paths(daily, horizon=horizon, season=season)
    days_ahead = _days(calendar, range(count, count + horizon))
    draws = paths.paths * days_ahead
    outliers = outliers_of(daily, season=season)
    without: tuple[float, ...] | None = None
    if outliers:
        usual_daily = without_outliers(daily, outliers)
        _, usual_paths = _tested_paths(usual_daily, horizon=horizon, season=season)
        without = quantity.amounts(_quantiles((usual_paths.paths * days_ahead).sum(axis=1)))
    return Forecast(
        quantity=quantity,
        calendar=calendar,
        past=quantity.amounts(amounts),
        periods=tuple(quantity.amounts(_quantiles(draws[:, index])) for index in range(horizon)),
        total=quantity.amounts(_quantiles(draws.sum(axis=1))),
        has_trend=paths.has_trend,
        has_season=paths.has_season,
        stretch=paths.stretch,
        origins=paths.origins,
        backtest=tested,
        budget=None if budget is None else _budget_day(budget, history, draws),
        outliers=outliers,
        total_without_outliers=without,
    )


def _tested_paths(
    daily: FloatArray, *, horizon: int, season: int
) -> tuple[Backtest | None, SamplePaths]:
    """Return the backtest and the paths of the forecast that it prefers."""
    tested = backtest(daily, horizon=horizon, season=season)
    is_naive = tested is not None and tested.is_naive_closer
    paths = (naive_paths if is_naive else sample_paths)(daily, horizon=horizon, season=season)
    return tested, paths


def backtest(series: FloatArray, *, horizon: int, season: int) -> Backtest | None:
    """Forecast from each of the last moments; None for too short a series.

    Each forecast uses only earlier data; its weights and stretch are fitted again.
    """
    count = len(series)
    first = max(MIN_PERIODS, count - MAX_ORIGINS)
    came: list[FloatArray] = []
    predictions: list[FloatArray] = []
    naive: list[FloatArray] = []
    for origin in range(first, count):
        ahead = min(horizon, count - origin, origin // 2)
        paths = sample_paths(series[:origin], horizon=ahead, season=season)
        predictions.append(np.quantile(paths.paths, QUANTILES, axis=0))
        naive.append(
            seasonal_naive(series[:origin], horizon=ahead, season=season, shares=QUANTILES)
        )
        came.append(series[origin : origin + ahead])
    if not came:
        return None
    outcomes = np.concatenate(came)
    quantiles, naive_quantiles = (np.concatenate(each, axis=1) for each in (predictions, naive))
    scale = float(series.mean()) or 1.0
    lags = [naive_lag(origin, season=season) for origin in range(first, count)]
    alike = [lag == naive_lag(count, season=season) for lag in lags]
    is_compared = np.repeat(alike, [len(each) for each in came])
    pairs = (quantiles[:, is_compared], naive_quantiles[:, is_compared])
    model_loss, naive_loss = (_loss(outcomes[is_compared], each) / scale for each in pairs)
    return Backtest(
        origins=count - first,
        periods=len(outcomes),
        inside=int(is_inside(outcomes, quantiles).sum()),
        loss=pinball(outcomes, quantiles) / scale,
        naive_inside=int(is_inside(outcomes, naive_quantiles).sum()),
        naive_loss=pinball(outcomes, naive_quantiles) / scale,
        is_naive_alike=all(alike),
        compared_periods=int(is_compared.sum()),
        compared_loss=model_loss,
        compared_naive_inside=int(is_inside(outcomes[is_compared], pairs[1]).sum()),
        compared_naive_loss=naive_loss,
    )


def is_inside(outcomes: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return 1 for outcomes in the 80 % interval, the outermost QUANTILES, else 0."""
    inside: FloatArray = ((quantiles[0] <= outcomes) & (outcomes <= quantiles[-1])).astype(float)
    return inside


def pinball(outcomes: FloatArray, quantiles: FloatArray) -> float:
    """Return the mean pinball loss of QUANTILES x outcomes, in the outcomes' unit.

    The loss of a quantile x is q (y - x) for an outcome y above it, and (1 - q) (x - y) below; a
    smaller mean over quantiles means a closer forecast (Gneiting and Raftery 2007).
    """
    shares = np.array(QUANTILES)[:, None]
    more = outcomes - quantiles
    return float(np.maximum(shares * more, (shares - 1) * more).mean())


def _loss(outcomes: FloatArray, quantiles: FloatArray) -> float:
    """Return the pinball loss; 0 without outcomes."""
    return pinball(outcomes, quantiles) if len(outcomes) else 0.0


def _amounts(history: UsageHistory, quantity: ForecastQuantity) -> tuple[float, ...]:
    amounts = history.hours if quantity is ForecastQuantity.HOURS else history.usd
    if amounts is None:
        msg = f"the history has no {quantity}: add a file with {quantity}, or a price per hour"
        raise ForecastError(msg)
    return amounts


def _days(calendar: PeriodCalendar, places: range) -> FloatArray:
    return np.array([calendar.days(place) for place in places], np.float64)


def _quantiles(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(each) for each in np.quantile(values, QUANTILES))


def _budget_day(budget: SpendingBudget, history: UsageHistory, draws: FloatArray) -> BudgetDay:
    amounts = _amounts(history, ForecastQuantity.USD)
    calendar, count = history.calendar, len(amounts)
    if not budget.usd.is_finite() or budget.usd <= 0:
        msg = f"the budget is {budget.usd} USD: use one above 0"
        raise ForecastError(msg)
    starts = [calendar.start(index) for index in range(count + 1)]
    since = starts[count] if budget.since is None else budget.since
    if since not in starts:
        msg = (
            f"the budget starts on {since}: use the first day of a {calendar.step} from "
            f"{starts[0]} to {starts[-1]}"
        )
        raise ForecastError(msg)
    spent = amounts[starts.index(since) :]
    sums = np.concatenate([np.full((len(draws), 1), sum(spent)), draws], axis=1).cumsum(axis=1)
    usd = float(budget.usd)
    if usd <= sums[0, 0]:
        past = np.concatenate([[0.0], np.cumsum(spent)])[None, :]
        day = _day(_spent_at(past, usd)[0], calendar, starts.index(since))
        return BudgetDay(budget=budget, spent_usd=Usd(sum(spent)), days=(day, day, day), chance=1.0)
    at = np.sort(_spent_at(sums, usd))
    early, middle, late = (at[min(int(share * len(at)), len(at) - 1)] for share in (P10, P50, P90))
    return BudgetDay(
        budget=budget,
        spent_usd=Usd(sum(spent)),
        days=(
            _day(early, calendar, count),
            _day(middle, calendar, count),
            _day(late, calendar, count),
        ),
        chance=float(np.isfinite(at).mean()),
    )


def _spent_at(sums: FloatArray, usd: float) -> FloatArray:
    """Return after how many periods each path has spent an amount; infinite if it never does."""
    is_spent = sums >= usd
    first = is_spent.argmax(axis=1)
    rows = np.arange(len(sums))
    before = sums[rows, np.maximum(first - 1, 0)]
    after = sums[rows, first]
    part = np.divide(usd - before, after - before, out=np.zeros_like(after), where=after > before)
    return np.where(is_spent.any(axis=1), np.maximum(first - 1, 0) + part, np.inf)


def _day(periods: float, calendar: PeriodCalendar, first: int) -> date | None:
    """Return the day a number of periods after a period's start; spend is even within a period."""
    if not np.isfinite(periods):
        return None
    full_periods = int(periods)
    start = calendar.start(first + full_periods)
    return start + timedelta(
        days=int((periods - full_periods) * calendar.days(first + full_periods))
    )
