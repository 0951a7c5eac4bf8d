"""Draws hours by team and week as a heat map.

A cell's colour is the mean number of the team's devices, so that a partial week looks like a full
one; its number is device-hours.
"""

from collections.abc import Sequence
from itertools import pairwise

from perfledger.rounding import digits, integer, typed
from perfledger.time_units import HOURS_PER_DAY
from perfledger_cost_models.billing.allocated_hours import HeatMap
from perfledger_service.rendering.chart.axis import Axis, Tick, rows_axis
from perfledger_service.rendering.chart.marks import BarMark, Tone
from perfledger_service.rendering.chart.picture import Chart, LegendKey, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.fleet.allocate import UNTAGGED

MAX_ROWS = 20

_SWATCHES = 5  # of the legend
_THOUSANDS_FROM = 100_000
# Text stays legible on the strongest cell in both colour schemes.
_FAINTEST, _STRONGEST = 0.04, 0.5


def heat_svg(heat: HeatMap) -> str:
    """Return the heat map as a standalone SVG document."""
    return picture_svg(heat_picture(heat))


def heat_picture(heat: HeatMap) -> Picture:
    """Return the heat map; teams beyond MAX_ROWS share one row."""
    teams = _rows_by_name(heat)
    total = sum(sum(hours) for _, hours in teams)
    return Picture(
        title="Device-hours by team and week",
        summary=f"{integer(total)} device-hours, {heat.starts[0]} to {heat.end} (not included); "
        "a stronger colour means more devices allocated on average",
        charts=(_chart(heat, teams),),
    )


def _chart(heat: HeatMap, teams: Sequence[tuple[str, tuple[float, ...]]]) -> Chart:
    weeks = list(pairwise((*heat.starts, heat.end)))
    lengths = [(end - start).days * HOURS_PER_DAY for start, end in weeks]
    devices = [
        [hours / length for hours, length in zip(row, lengths, strict=True)] for _, row in teams
    ]
    most = max(map(max, devices), default=0.0)
    cells = tuple(
        BarMark(
            x=(column + 0.02, column + 0.98),
            y=(row + 0.04, row + 0.96),
            opacity=_opacity(devices[row][column], most),
            title=f"{team}, from {heat.starts[column]}: {typed(each)} device-hours, "
            f"{digits(devices[row][column])} devices on average",
            label=_short(each) if each else "",
        )
        for row, (team, hours) in enumerate(teams)
        for column, each in enumerate(hours)
    )
    ticks = tuple(
        Tick(value=column + 0.5, label=f"{start:%d %b}") for column, start in enumerate(heat.starts)
    )
    return Chart(
        x=Axis(low=0.0, high=len(weeks), ticks=ticks, has_grid=False),
        y=rows_axis([Tick(label=team, figure=_short(sum(hours))) for team, hours in teams]),
        marks=cells,
        legend=_legend(most),
    )


def _rows_by_name(heat: HeatMap) -> list[tuple[str, tuple[float, ...]]]:
    rows = [(row.team or UNTAGGED, row.hours) for row in heat.rows]
    if len(rows) <= MAX_ROWS:
        return rows
    top_rows, remaining = rows[: MAX_ROWS - 1], rows[MAX_ROWS - 1 :]
    summed = tuple(map(sum, zip(*(hours for _, hours in remaining), strict=True)))
    return [*top_rows, (f"({len(remaining)} others)", summed)]


def _legend(most: float) -> tuple[LegendKey, ...]:
    labels = [
        "0",
        *("" for _ in range(_SWATCHES - 2)),
        f"{digits(most, 3)} devices on average",
    ]
    return tuple(
        LegendKey(label=label, tone=Tone.BLUE, opacity=_opacity(index, _SWATCHES - 1))
        for index, label in enumerate(labels)
    )


def _opacity(value: float, most: float) -> float:
    share = value / most if most else 0.0
    return round(_FAINTEST + (_STRONGEST - _FAINTEST) * share, 3)


def _short(hours: float) -> str:
    if hours < _THOUSANDS_FROM:
        return integer(hours)
    return f"{integer(hours / 1000)}k"
