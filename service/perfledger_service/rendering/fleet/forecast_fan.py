"""Draws forecasts as fan charts: the past, and bands of the future.

The line is the past and then the median, the dark band the 50 % interval, the light band the 80 %
interval.
"""

from dataclasses import replace

from perfledger_cost_models.forecasting.forecast import (
    QUANTILES,
    Forecast,
    ForecastQuantity,
    Forecasts,
)
from perfledger_cost_models.units import USD
from perfledger_service.rendering.chart.axis import linear_axis, places_axis
from perfledger_service.rendering.chart.marks import BandMark, LineMark, Mark, RuleMark, Tone
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.fleet.forecast import (
    forecast_sentences,
    forecast_title,
    period_name,
)
from perfledger_service.rendering.layout import number_format

_MAX_LABELS = 8
# Seasons of history drawn: with more, the fan would be a sliver.
_MAX_SEASONS = 3
_LEGEND = (
    LegendKey(label="past", tone=Tone.INK, shape=KeyShape.LINE),
    LegendKey(label="P50", tone=Tone.BLUE, shape=KeyShape.LINE),
    LegendKey(label="P25 to P75", tone=Tone.BLUE, opacity=0.4),
    LegendKey(label="P10 to P90", tone=Tone.BLUE, opacity=0.22),
)


def forecast_svg(view: Forecasts) -> str:
    """Return the fan charts as a standalone SVG document."""
    return picture_svg(forecast_picture(view))


def forecast_picture(view: Forecasts, *, summary: str = "") -> Picture:
    """Return the fan chart of every forecast, one below the other.

    Below the title are the summary sentences, or `summary` if the sentences are shown elsewhere.
    """
    first, *further = map(fan_chart, view.forecasts)
    return Picture(
        title=forecast_title(view),
        summary=summary or " ".join(forecast_sentences(view)),
        charts=(replace(first, legend=_LEGEND), *further),
    )


def fan_chart(forecast: Forecast) -> Chart:
    """Return the chart of one forecast; its x values count the drawn periods."""
    past = forecast.past[-_MAX_SEASONS * forecast.calendar.step.season :]
    before, count = len(forecast.past) - len(past), len(past) + len(forecast.periods)
    columns = tuple(zip(*forecast.periods, strict=True))
    # The fan begins at the last known period.
    fan = [(past[-1], *column) for column in columns]
    places = range(len(past) - 1, count)
    middle = len(QUANTILES) // 2
    pairs = zip(fan[:middle], reversed(fan), strict=False)
    bands = (
        BandMark(points=tuple(zip(places, low, high, strict=True)), opacity=0.22)
        for low, high in pairs
    )
    names = [period_name(forecast, before + index) for index in range(count)]
    unit = "device-hours" if forecast.quantity is ForecastQuantity.HOURS else USD
    most = max(*past, *columns[-1]) or 1.0
    return Chart(
        x=places_axis(names, most=_MAX_LABELS),
        y=linear_axis(0.0, most, label=number_format.count, title=unit),
        marks=(
            *bands,
            LineMark(points=tuple(enumerate(past)), tone=Tone.INK, width=1.5),
            LineMark(points=tuple(zip(places, fan[middle], strict=True))),
            *_budget_marks(forecast, before),
        ),
        height=190.0,
    )


def _budget_marks(forecast: Forecast, before: int) -> tuple[Mark, ...]:
    """Return a line at the day on which the budget is spent."""
    if forecast.budget is None or (day := forecast.budget.days[1]) is None:
        return ()
    calendar = forecast.calendar
    for number in range(before, len(forecast.past) + len(forecast.periods)):
        start = calendar.start(number)
        if start <= day < calendar.start(number + 1):
            place = number - before + (day - start).days / calendar.days(number) - 0.5
            label = f"spent on {day.isoformat()}"
            return (RuleMark(x=place, tone=Tone.RED, is_dashed=True, label=label),)
    return ()
