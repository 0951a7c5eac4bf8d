"""Files of the past in, what is coming out: hours, money, and when a job had best start."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path

from perfledger_cost_models.forecast import (
    Budget,
    Forecasts,
    Quantity,
    forecast_of,
    longest_horizon,
)
from perfledger_cost_models.history import (
    History,
    costs_of_bill,
    history_of,
    is_history_table,
    read_history,
)
from perfledger_cost_models.hourly_series import MAX_SERIES_BYTES, read_hourly_series
from perfledger_cost_models.paths import MIN_PERIODS
from perfledger_cost_models.period import Step
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.sheet import PriceSheet
from perfledger_cost_models.start_window import Aim, StartWindow, Task, start_window
from perfledger_cost_models.usage_file import FOCUS
from perfledger_service.errors import UsageError
from perfledger_service.usecases.fleets import read_usages
from perfledger_service.usecases.price_books import current_sheet
from perfledger_service.usecases.text_files import NamedBytes, read_text
from perfledger_service.usecases.translating import translated

# What a quarter's or a half-year's budget asks for.
_USUAL = {Step.MONTH: 6, Step.WEEK: 13}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What is asked of the future; None leaves the choice to the history."""

    step: Step | None
    periods: int | None
    budget: Budget | None


def forecast_files(
    files: Sequence[NamedBytes],
    ahead: Ahead,
    *,
    option: str | None,
    today: date,
    sheet: PriceSheet | None = None,
) -> Forecasts:
    """Forecast what files of the past tell: hours, money or both.

    `option` prices the hours at its rate of today, in place of what was paid; without a sheet on
    the current one. Raises UsageError for what cannot be counted or forecast.
    """
    with translated():
        history = _history(files, ahead.step)
        rate = None if option is None else rate_of(sheet or current_sheet(), option, today=today)
        if rate is not None:
            history = _priced(history, rate)
        horizon = ahead.periods
        if horizon is None:
            horizon = min(_USUAL[history.calendar.step], longest_horizon(len(history)))
        quantities = [
            each
            for each, known in ((Quantity.HOURS, history.hours), (Quantity.USD, history.usd))
            if known is not None
        ]
        if ahead.budget is not None and Quantity.USD not in quantities:
            msg = "nothing says what the hours cost: add --at, such as p5.48xlarge/on_demand"
            raise UsageError(msg)
        forecasts = tuple(
            forecast_of(
                history,
                each,
                horizon=horizon,
                budget=ahead.budget if each is Quantity.USD else None,
            )
            for each in quantities
        )
    return Forecasts(name=", ".join(file.name for file in files), forecasts=forecasts, rate=rate)


def find_window(
    path: Path,
    *,
    hours: float,
    earliest: datetime | None,
    deadline: datetime | None,
    kw: float | None,
    pause_hours: float | None,
    aim: Aim | None,
) -> StartWindow:
    """Return when a job had best run by a file of hourly values.

    Without moments the file's own ends count; without an aim money, where the file tells of it.
    Raises NotFoundError, TooLargeError and UsageError.
    """
    with translated():
        series = read_hourly_series(read_text(path, most_bytes=MAX_SERIES_BYTES), path.name)
        task = Task(
            hours=hours,
            earliest_s=series.start_s if earliest is None else earliest.timestamp(),
            deadline_s=series.end_s if deadline is None else deadline.timestamp(),
            kw=kw,
            pause_hours=pause_hours,
        )
        usual = Aim.KG if series.usd_per_hour is None else Aim.USD
        return start_window(task, series, aim=aim or usual)


def _history(files: Sequence[NamedBytes], step: Step | None) -> History:
    for file in files:
        if is_history_table(file.text.partition("\n")[0]):
            if len(files) > 1 or step is not None:
                msg = f"{file.name} is a table of periods: give it alone, and without --step"
                raise UsageError(msg)
            return read_history(file.text, file.name)
    usages = read_usages(files)
    costs = [
        cost
        for file, usage in zip(files, usages, strict=True)
        if usage.kind == FOCUS
        for cost in costs_of_bill(file.text)
    ]
    # Money of a part of the hours would be too little: it counts where every file is a bill.
    is_billed = all(usage.kind == FOCUS for usage in usages)
    history = history_of(usages, costs if is_billed else None, step=step or Step.MONTH)
    if step is None and len(history) < MIN_PERIODS:
        msg = (
            f"{len(history)} whole months are told, and {MIN_PERIODS} are needed: add files, or "
            "tell weeks with --step week"
        )
        raise UsageError(msg)
    return history


def _priced(history: History, rate: Rate) -> History:
    if history.hours is None:
        msg = "the file tells of no hours that a price could be put on: leave --at out"
        raise UsageError(msg)
    usd = float(rate.usd_per_device_hour)
    return replace(history, usd=tuple(hours * usd for hours in history.hours))
