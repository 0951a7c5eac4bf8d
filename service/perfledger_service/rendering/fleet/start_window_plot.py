"""Draws the hourly values ahead, and when a job runs."""

import math
from datetime import UTC, datetime

from perfledger_cost_models.energy.carbon_aware_start import StartWindow
from perfledger_cost_models.energy.start_objective import StartObjective
from perfledger_service.rendering.chart.axis import Axis, Tick, linear_axis
from perfledger_service.rendering.chart.marks import BarMark, LineMark, Tone
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.fleet.start_window import window_headline, window_savings

_UNITS = {StartObjective.KG: "kg of CO2 a kWh", StartObjective.USD: "USD an hour"}
_MAX_LABELS = 8
_LEGEND = (
    LegendKey(label="the best plan", tone=Tone.GREEN, opacity=0.28),
    LegendKey(label="immediate start", tone=Tone.MUTED, shape=KeyShape.DASHES),
)


def window_svg(view: StartWindow) -> str:
    """Return the hours from the earliest start as a standalone SVG document."""
    return picture_svg(
        Picture(
            title=window_headline(view),
            summary=" ".join(window_savings(view)),
            charts=(window_chart(view),),
        )
    )


def window_chart(view: StartWindow) -> Chart:
    """Return the chart of the hours' values; x is in seconds since 1970."""
    values = view.values
    least = min(0.0, *(value for _, _, value in values))
    most = max(0.0, *(value for _, _, value in values)) or float(not least)
    every = math.ceil(len(values) / _MAX_LABELS)
    ticks = tuple(Tick(value=at, label=_moment(at)) for at, _, _ in values[::every])
    return Chart(
        x=Axis(low=values[0][0], high=values[-1][1], ticks=ticks, has_grid=False),
        y=linear_axis(least, most, title=_UNITS[view.aim]),
        marks=(
            *(BarMark(x=run, tone=Tone.GREEN, opacity=0.28) for run in view.best.runs),
            *(BarMark(x=run, tone=Tone.MUTED, is_open=True) for run in view.at_once.runs),
            LineMark(
                points=tuple((at, value) for *ends, value in values for at in ends),
                tone=Tone.INK,
                width=1.5,
            ),
        ),
        legend=_LEGEND,
        height=180.0,
    )


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%d %b %H:%M}"
