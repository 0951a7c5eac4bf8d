"""Draws device utilization: bars by owner, and the hours of the week.

The thin bar is SM-active, if it is known in addition to the chosen signal; the line is the target.
A stronger colour means more use in that hour; an empty hour is unknown.
"""

from collections.abc import Iterator, Sequence

from perfledger.time_units import HOURS_PER_DAY
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.telemetry.utilization import OwnerUtilization
from perfledger_cost_models.telemetry.utilization_report import UtilizationReport
from perfledger_service.rendering.chart.axis import Axis, Tick, rows_axis, share_axis
from perfledger_service.rendering.chart.marks import BarMark, Mark, RuleMark, Tone
from perfledger_service.rendering.chart.picture import Chart, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.fleet.utilization import (
    SIGNALS,
    amount,
    gain_sentences,
    utilization_sentences,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean

_HOUR_HEIGHT = 20.0
_LEFT = 200.0  # for names
_MAX_BARS = 16
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LABELLED_HOURS = (0, 6, 12, 18)


def utilization_svg(view: UtilizationReport) -> str:
    """Return utilization by owner and by hour of the week as a standalone SVG document."""
    hidden = len(view.by_owner) - _MAX_BARS
    return picture_svg(
        Picture(
            title=utilization_sentences(view)[0],
            summary=gain_sentences(view)[0],
            charts=(owners_chart(view), week_chart(view.week)),
            notes=(f"and {hidden:,} more {view.level}s",) if hidden > 0 else (),
        )
    )


def owners_chart(view: UtilizationReport) -> Chart:
    """Return a row for each owner, those with the most hours first."""
    uses, target = view.by_owner[:_MAX_BARS], view.gain.target
    has_thin = any(_sm_active(use, view.signal) is not None for use in uses)
    beside = f"; thin: {SIGNALS[Signal.SM_ACTIVE]}" if has_thin else ""
    label = f"target {number_format.whole_share(target)}"
    bars = [mark for row, use in enumerate(uses) for mark in _bars(row, use, view.signal)]
    return Chart(
        x=share_axis(),
        y=rows_axis([Tick(label=use.owner, figure=_mean(use)) for use in uses]),
        marks=(*bars, RuleMark(x=target, is_dashed=True, label=label)),
        caption=f"{SIGNALS[view.signal]} by {view.level}{beside}",
        left=_LEFT,
    )


def week_chart(week: Sequence[float | None]) -> Chart:
    """Return a cell for each known hour of the week, from the first of Monday on."""
    ticks = tuple(Tick(value=hour, label=f"{hour:02}:00") for hour in _LABELLED_HOURS)
    return Chart(
        x=Axis(low=0.0, high=HOURS_PER_DAY, ticks=ticks, has_grid=False),
        y=rows_axis(_DAYS),
        marks=tuple(
            mark
            for hour, level in enumerate(week)
            if level is not None
            for mark in _cell(hour, level)
        ),
        caption="hour of the week, UTC; a stronger colour means more in use",
        height=_HOUR_HEIGHT * len(_DAYS),
    )


def _mean(use: OwnerUtilization) -> str:
    if use.mean is None:
        return number_format.NOT_KNOWN
    return f"{'at most ' if use.is_upper_bound else ''}{number_format.share(use.mean)}"


def _bars(row: int, use: OwnerUtilization, signal: Signal) -> Iterator[Mark]:
    thin = _sm_active(use, signal)
    beside = "" if thin is None else f", SM-active {number_format.share(thin)}"
    hours = amount(use.device_hours)
    title = f"{clean(use.owner)}: {_mean(use)} of {hours} device-hours{beside}"
    bar_span = (row + 0.15, row + 0.85)
    yield BarMark(x=(0.0, 1.0), y=bar_span, tone=Tone.TRACK, title=title)
    yield BarMark(x=(0.0, use.mean or 0.0), y=bar_span, title=title)
    if thin is not None:
        yield BarMark(x=(0.0, thin), y=(row + 0.65, row + 0.85), tone=Tone.ORANGE, title=title)


def _sm_active(use: OwnerUtilization, signal: Signal) -> float | None:
    return None if signal is Signal.SM_ACTIVE else use.signals.get(Signal.SM_ACTIVE)


def _cell(hour: int, level: float) -> Iterator[Mark]:
    day, of_day = divmod(hour, HOURS_PER_DAY)
    title = f"{_DAYS[day]} {of_day:02}:00 UTC: {number_format.share(level)}"
    x, y = (of_day + 0.03, of_day + 0.97), (day + 0.03, day + 0.97)
    yield BarMark(x=x, y=y, tone=Tone.TRACK, title=title)
    yield BarMark(x=x, y=y, opacity=round(level, 3), title=title)
