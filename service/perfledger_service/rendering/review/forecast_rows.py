"""Holds the tables and the picture of a review's forecast."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger import rounding
from perfledger_cost_models.forecasting.forecast import (
    HIGH,
    LOW,
    MIDDLE,
    Forecast,
    ForecastQuantity,
    Forecasts,
)
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.review.document import QuarterForecast, UnknownFigure
from perfledger_cost_models.units import USD
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.fleet.forecast import (
    forecast_notes,
    forecast_sentences,
    period_name,
)
from perfledger_service.rendering.fleet.forecast_fan import forecast_picture
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.review.rows import plain_number, whole_usd
from perfledger_service.rendering.review.whole_dollars import whole_difference

_BANDS = "Dark band: 50 % interval; light band: 80 % interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """One period, or their total: P10, P50, P90, and P90 less P50."""

    period: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastTable:
    """The periods of one quantity; the last row is the total, which has its own quantiles."""

    unit: str
    rows: tuple[ForecastRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastTables:
    """The forecast of a review, as shown."""

    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    tables: tuple[ForecastTable, ...]
    picture: str  # SVG


def forecast_tables(forecasts: Forecasts | UnknownFigure) -> ForecastTables | None:
    """Return the forecast as shown, None without one."""
    if isinstance(forecasts, UnknownFigure):
        return None
    picture = forecast_picture(forecasts, summary=_BANDS)
    return ForecastTables(
        sentences=forecast_sentences(forecasts),
        notes=tuple(forecast_notes(forecasts)),
        tables=tuple(_table(each) for each in forecasts.forecasts),
        picture=embedded_svg(picture, label=picture.title, has_style=True),
    )


def quarter_rows(
    quarters: Sequence[QuarterForecast] | UnknownFigure,
) -> list[tuple[str, ...]] | None:
    """Return per quantity: a year and a quarter before, the forecast, the actual and the error."""
    if isinstance(quarters, UnknownFigure):
        return None
    return [
        (
            unit_of(each.quantity),
            _known_amount(each.year_before),
            _known_amount(each.quarter_before),
            f"{_amount(each.forecast)} ({number_format.interval(each.low, each.high, _amount)})",
            _amount(each.actual),
            number_format.percent(each.actual / each.forecast - 1)
            if each.forecast
            else number_format.NOTHING,
            "inside" if each.is_inside else "outside",
        )
        for each in quarters
    ]


def unit_of(quantity: ForecastQuantity) -> str:
    """Return the unit of a forecast quantity."""
    match quantity:
        case ForecastQuantity.HOURS:
            return "device-hours"
        case ForecastQuantity.USD:
            return USD


def named_periods(forecast: Forecast) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Return the name and quantiles of each future period, and last those of their total."""
    count = len(forecast.past)
    ahead = (
        (period_name(forecast, count + index), quantiles)
        for index, quantiles in enumerate(forecast.periods)
    )
    return (*ahead, ("total", forecast.total))


def _known_amount(amount: float | None) -> str:
    return number_format.NOTHING if amount is None else rounding.integer(amount)


def _table(forecast: Forecast) -> ForecastTable:
    return ForecastTable(
        unit=unit_of(forecast.quantity),
        rows=tuple(
            ForecastRow(period=name, cells=_cells(forecast, quantiles))
            for name, quantiles in named_periods(forecast)
        ),
    )


def _cells(forecast: Forecast, quantiles: Sequence[float]) -> tuple[str, ...]:
    low, middle, high = (to_decimal(quantiles[place]) for place in (LOW, MIDDLE, HIGH))
    if forecast.quantity is ForecastQuantity.USD:
        return tuple(map(whole_usd, (low, middle, high, whole_difference(high, middle))))
    return tuple(map(plain_number, (low, middle, high, high - middle)))


def _amount(value: float) -> str:
    return rounding.integer(value)
