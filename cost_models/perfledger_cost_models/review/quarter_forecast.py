"""Compares a quarter with the past, and with the forecast before it began."""

from collections.abc import Iterator

from perfledger.time_units import MONTHS_PER_YEAR
from perfledger_cost_models.forecasting.calendar_periods import PeriodLength
from perfledger_cost_models.forecasting.forecast import (
    HIGH,
    LOW,
    MIDDLE,
    Forecast,
    ForecastQuantity,
    Forecasts,
    forecast_of,
)
from perfledger_cost_models.forecasting.past_periods import UsageHistory
from perfledger_cost_models.forecasting.sample_paths import MIN_PERIODS
from perfledger_cost_models.review.document import QuarterForecast, UnknownFigure
from perfledger_cost_models.review.quarter import MONTHS, Quarter

NAME = "past against forecast against actual"


def quarter_forecasts(
    forecasts: Forecasts | None, quarter: Quarter
) -> tuple[QuarterForecast, ...] | UnknownFigure:
    """Return hours and spend of a quarter with their forecasts, or why they are unknown."""
    if forecasts is None:
        reason = "the plan names no past usage"
    else:
        compared_quantities = tuple(_comparisons(forecasts, quarter))
        if compared_quantities:
            return compared_quantities
        reason = (
            f"{forecasts.name} does not have the months of {quarter.name} and {MIN_PERIODS} months "
            "before them"
        )
    remedy = "files in its [forecast]: a table of months that ends with this quarter"
    return UnknownFigure(name=NAME, reason=reason, remedy=remedy)


def _comparisons(forecasts: Forecasts, quarter: Quarter) -> Iterator[QuarterForecast]:
    for each in forecasts.forecasts:
        first = _first_month(each, quarter)
        if first is not None and MIN_PERIODS <= first <= len(each.past) - MONTHS:
            yield _quarter(each, first)


def _quarter(series: Forecast, first: int) -> QuarterForecast:
    before = series.past[:first]
    is_hours = series.quantity is ForecastQuantity.HOURS
    history = UsageHistory(
        calendar=series.calendar,
        hours=before if is_hours else None,
        usd=None if is_hours else before,
    )
    total = forecast_of(history, series.quantity, horizon=MONTHS).total
    return QuarterForecast(
        quantity=series.quantity,
        year_before=_sum(series, first - MONTHS_PER_YEAR),
        quarter_before=_sum(series, first - MONTHS),
        low=total[LOW],
        forecast=total[MIDDLE],
        high=total[HIGH],
        actual=_sum(series, first),
    )


def _sum(series: Forecast, first: int) -> float:
    (amount,) = series.quantity.amounts([sum(series.past[first : first + MONTHS])])
    return amount


def _first_month(series: Forecast, quarter: Quarter) -> int | None:
    """Return the number of the quarter's first month; None for periods other than months."""
    start = series.calendar.first
    if series.calendar.step is not PeriodLength.MONTH:
        return None
    return MONTHS_PER_YEAR * (quarter.first.year - start.year) + quarter.first.month - start.month
