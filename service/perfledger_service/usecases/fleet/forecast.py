"""Forecasts hours and spend from past usage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from perfledger_cost_models.billing.usage_readers import FOCUS
from perfledger_cost_models.forecasting.calendar_periods import PeriodLength
from perfledger_cost_models.forecasting.forecast import (
    ForecastQuantity,
    Forecasts,
    SpendingBudget,
    forecast_of,
    longest_horizon,
)
from perfledger_cost_models.forecasting.past_periods import (
    UsageHistory,
    costs_of_bill,
    history_of,
    is_history_table,
    read_history,
)
from perfledger_cost_models.forecasting.sample_paths import MIN_PERIODS
from perfledger_cost_models.prices.history_rules import ONE_DAY
from perfledger_cost_models.quote import HourlyRate
from perfledger_service.errors import UsageError
from perfledger_service.usecases.fleet.hours import read_usages
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import NamedBytes, errors_about

# The horizons of a half-year's and a quarter's budget.
_USUAL = {PeriodLength.MONTH: 6, PeriodLength.WEEK: 13}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRequest:
    """Horizon and budget of a forecast, and its day; None leaves the choice to the history."""

    step: PeriodLength | None
    periods: int | None
    today: date
    budget: SpendingBudget | None = None


def forecast_files(
    files: Sequence[NamedBytes], request: ForecastRequest, *, rate: HourlyRate | None
) -> Forecasts:
    """Forecast hours, spend or both from usage files and bills.

    `rate` prices the hours instead of the amounts paid. Raises UsageError for files that cannot be
    counted or forecast, and for a month or week that has not ended.
    """
    with translate_errors():
        history = _history(files, request.step)
        _require_past(history, request.today)
        if rate is not None:
            history = _priced_history(history, rate)
        horizon = request.periods
        if horizon is None:
            horizon = min(_USUAL[history.calendar.step], longest_horizon(len(history)))
        quantities = [
            quantity_kind
            for quantity_kind, quantity in (
                (ForecastQuantity.HOURS, history.hours),
                (ForecastQuantity.USD, history.usd),
            )
            if quantity is not None
        ]
        if request.budget is not None and ForecastQuantity.USD not in quantities:
            msg = "the hours have no price: add --purchase-option, such as p5.48xlarge/on_demand"
            raise UsageError(msg)
        forecasts = tuple(
            forecast_of(
                history,
                quantity_kind,
                horizon=horizon,
                budget=request.budget if quantity_kind is ForecastQuantity.USD else None,
            )
            for quantity_kind in quantities
        )
    return Forecasts(name=", ".join(file.name for file in files), forecasts=forecasts, rate=rate)


def _history(files: Sequence[NamedBytes], step: PeriodLength | None) -> UsageHistory:
    for file in files:
        if is_history_table(file.text):
            if len(files) > 1 or step is not None:
                msg = (
                    f"{file.path or file.name} is a table of periods: give it alone, and without "
                    "--period"
                )
                raise UsageError(msg)
            with errors_about(file):
                return read_history(file.text, file.name)
    usages = read_usages(files)
    costs = [
        cost
        for file, usage in zip(files, usages, strict=True)
        if usage.kind == FOCUS
        for cost in costs_of_bill(file.text)
    ]
    # Spend counts only if every file is a bill; for part of the hours it would be too low.
    is_billed = all(usage.kind == FOCUS for usage in usages)
    history = history_of(usages, costs if is_billed else None, step=step or PeriodLength.MONTH)
    if step is None and len(history) < MIN_PERIODS:
        msg = (
            f"the files cover {len(history)} whole months of the {MIN_PERIODS} needed: add files, "
            "or count by weeks with --period week"
        )
        raise UsageError(msg)
    return history


def _require_past(history: UsageHistory, today: date) -> None:
    """Raise UsageError if the last period has not ended, because its amounts would be too low.

    The day after `today` may have begun in another time zone.
    """
    calendar, count = history.calendar, len(history)
    last_day = calendar.start(count) - ONE_DAY
    if last_day > today + ONE_DAY:
        msg = (
            f"the {calendar.step} from {calendar.start(count - 1)} to {last_day} has not ended on "
            f"{today}: leave out what is not past"
        )
        raise UsageError(msg)


def _priced_history(history: UsageHistory, rate: HourlyRate) -> UsageHistory:
    if history.hours is None:
        msg = "the file has no device-hours to price: leave --purchase-option out"
        raise UsageError(msg)
    usd = float(rate.usd_per_device_hour)
    return replace(history, usd=tuple(hours * usd for hours in history.hours))
