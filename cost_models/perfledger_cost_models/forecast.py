"""A history of hours or money into the next periods' quantiles, their sum, and a budget's last day.

Months differ in length by a tenth: what is forecast is the amount a day, times each period's days.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

import numpy as np

from perfledger_cost_models.backtest import Backtest, backtest
from perfledger_cost_models.history import History
from perfledger_cost_models.paths import ForecastError, paths_of
from perfledger_cost_models.period import Calendar
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.smoothing import FloatArray

# P10 to P90 is the interval that is calibrated; P50 is a budget, P90 less P50 its contingency.
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


class Quantity(StrEnum):
    """What is forecast."""

    HOURS = "hours"  # of devices
    USD = "usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Money that is there from the first day of a period on."""

    usd: Decimal
    since: date | None = None  # None: from the first period that is forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDay:
    """The day on which a budget is spent: early (P10), most likely and late (P90).

    A day is None where the money lasts beyond the periods that are forecast.
    """

    budget: Budget
    spent_usd: float  # before the forecast begins
    days: tuple[date | None, date | None, date | None]
    chance: float  # of being spent within the periods that are forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What the next periods may bring; quantiles are those of QUANTILES."""

    quantity: Quantity
    calendar: Calendar
    past: tuple[float, ...]
    periods: tuple[tuple[float, ...], ...]  # a period's quantiles each
    total: tuple[float, ...]  # of their sum
    has_trend: bool
    has_season: bool
    stretch: float
    origins: int  # earlier forecasts that the interval's width rests on
    backtest: Backtest | None  # None where the history is too short for any
    budget: BudgetDay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """The forecasts of one history: of its hours, its money, or both."""

    name: str  # of the files
    forecasts: tuple[Forecast, ...]
    rate: Rate | None  # at which hours are turned into money, in place of what was paid


def longest_horizon(periods: int) -> int:
    """Return how many periods can be forecast at most: half as many as are known."""
    return periods // 2


def forecast_of(
    history: History, quantity: Quantity, *, horizon: int, budget: Budget | None = None
) -> Forecast:
    """Forecast the next `horizon` periods. Raises ForecastError.

    A budget is of money, from a day on of which the history tells.
    """
    amounts = _amounts(history, quantity)
    calendar, count = history.calendar, len(amounts)
    daily = np.array(amounts) / _days(calendar, range(count))
    season = calendar.step.season
    paths = paths_of(daily, horizon=horizon, season=season)
    drawn = paths.drawn * _days(calendar, range(count, count + horizon))
    return Forecast(
        quantity=quantity,
        calendar=calendar,
        past=amounts,
        periods=tuple(_quantiles(drawn[:, place]) for place in range(horizon)),
        total=_quantiles(drawn.sum(axis=1)),
        has_trend=paths.has_trend,
        has_season=paths.has_season,
        stretch=paths.stretch,
        origins=paths.origins,
        backtest=backtest(daily, horizon=horizon, season=season),
        budget=None if budget is None else _budget_day(budget, history, drawn),
    )


def _amounts(history: History, quantity: Quantity) -> tuple[float, ...]:
    found = history.hours if quantity is Quantity.HOURS else history.usd
    if found is None:
        msg = f"nothing of the past tells {quantity}: give a file that does, or a price of the hour"
        raise ForecastError(msg)
    return found


def _days(calendar: Calendar, places: range) -> FloatArray:
    return np.array([calendar.days(place) for place in places], np.float64)


def _quantiles(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(each) for each in np.quantile(values, QUANTILES))


def _budget_day(budget: Budget, history: History, drawn: FloatArray) -> BudgetDay:
    amounts = _amounts(history, Quantity.USD)
    calendar, count = history.calendar, len(amounts)
    if not budget.usd.is_finite() or budget.usd <= 0:
        msg = f"a budget of {budget.usd} USD: give one above 0"
        raise ForecastError(msg)
    starts = [calendar.start(place) for place in range(count + 1)]
    since = starts[count] if budget.since is None else budget.since
    if since not in starts:
        msg = (
            f"a budget since {since}: give the first day of a {calendar.step} from {starts[0]} to "
            f"{starts[-1]}, of which the history tells"
        )
        raise ForecastError(msg)
    spent = amounts[starts.index(since) :]
    sums = np.concatenate([np.full((len(drawn), 1), sum(spent)), drawn], axis=1).cumsum(axis=1)
    usd = float(budget.usd)
    if usd <= sums[0, 0]:
        known = np.concatenate([[0.0], np.cumsum(spent)])[None, :]
        day = _day(_spent_at(known, usd)[0], calendar, starts.index(since))
        return BudgetDay(budget=budget, spent_usd=sum(spent), days=(day, day, day), chance=1.0)
    at = np.sort(_spent_at(sums, usd))
    early, middle, late = (at[min(int(share * len(at)), len(at) - 1)] for share in (0.1, 0.5, 0.9))
    return BudgetDay(
        budget=budget,
        spent_usd=sum(spent),
        days=(
            _day(early, calendar, count),
            _day(middle, calendar, count),
            _day(late, calendar, count),
        ),
        chance=float(np.isfinite(at).mean()),
    )


def _spent_at(sums: FloatArray, usd: float) -> FloatArray:
    """Return for each path after how many periods so much is spent, infinite where it is not."""
    is_spent = sums >= usd
    first = is_spent.argmax(axis=1)
    rows = np.arange(len(sums))
    before = sums[rows, np.maximum(first - 1, 0)]
    after = sums[rows, first]
    part = np.divide(usd - before, after - before, out=np.zeros_like(after), where=after > before)
    at: FloatArray = np.where(is_spent.any(axis=1), np.maximum(first - 1, 0) + part, np.inf)
    return at


def _day(periods: float, calendar: Calendar, first: int) -> date | None:
    """Return the day so many periods after the begin of one; money is spent evenly within each."""
    if not np.isfinite(periods):
        return None
    whole = int(periods)
    start = calendar.start(first + whole)
    return start + timedelta(days=int((periods - whole) * calendar.days(first + whole)))
