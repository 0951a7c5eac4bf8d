"""Turns hours by team and week into shapes: a heat map, as an SVG that stands alone or in a page.

A cell's colour says how many devices the team held on average, so that a week of three days looks
like one of seven; the number in it is device-hours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from math import ceil

from perfledger_cost_models.held_hours import HeatMap
from perfledger_service.pages import figures
from perfledger_service.pages.allocated import UNTAGGED
from perfledger_service.pages.environment import render
from perfledger_service.pages.escape import clean
from perfledger_service.pages.scale import Scale, Tick

MOST_ROWS = 20
# As the template draws it.
_LEFT, _RIGHT, _TOP, _ROW = 176.0, 868.0, 76.0, 24.0
_LABEL_WIDTH = 46.0
_NUMBER_WIDTH = 40.0  # of a cell that holds "12,345"
_LEGEND = 5  # swatches
_THOUSANDS_FROM = 100_000
_MAX_NAME = 24
# Ink stays legible on the strongest cell, in light and in dark.
_FAINTEST, _STRONGEST = 0.04, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One team's week."""

    x: float
    opacity: float
    number: str  # "" where it is too narrow
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """One team."""

    name: str
    y: float
    cells: tuple[Cell, ...]
    total: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatPlot:
    """A heat map as shapes."""

    title: str
    summary: str
    width: float  # of a cell
    height: float
    rows: tuple[HeatRow, ...]
    ticks: tuple[Tick, ...]
    legend: tuple[float, ...]  # opacities
    legend_y: float
    most: str


@dataclass(frozen=True, slots=True)
class _Column:
    start: date
    x: float
    hours: int  # from its start to its end


def heat_svg(found: HeatMap) -> str:
    """Return the heat map as a file of its own."""
    return render("heat_map.svg.j2", plot=heat_plot(found)) + "\n"


def heat_plot(found: HeatMap) -> HeatPlot:
    """Return the heat map as shapes; teams beyond MOST_ROWS are one row."""
    x = Scale(0.0, len(found.starts), _LEFT, _RIGHT)
    ends = (*found.starts[1:], found.end)
    columns = [
        _Column(start, x.at(place), (end - start).days * 24)
        for place, (start, end) in enumerate(zip(found.starts, ends, strict=True))
    ]
    named = _named(found)
    devices = [
        hours / column.hours for _, row in named for hours, column in zip(row, columns, strict=True)
    ]
    most, bottom = max(devices, default=0.0), _TOP + _ROW * len(named)
    whole = sum(sum(row) for _, row in named)
    return HeatPlot(
        title="Device-hours by team and week",
        summary=f"{whole:,.0f} device-hours, {found.starts[0]} to {found.end} (not included); "
        "the stronger the colour, the more devices were held on average",
        width=round((_RIGHT - _LEFT) / len(columns), 2),
        height=bottom + 44,
        rows=tuple(
            _row(name, row, columns, _TOP + _ROW * place, most)
            for place, (name, row) in enumerate(named)
        ),
        ticks=_ticks(columns),
        legend=tuple(_opacity(place, _LEGEND - 1) for place in range(_LEGEND)),
        legend_y=bottom + 16,
        most=f"{most:,.3g} devices",
    )


def _named(found: HeatMap) -> list[tuple[str, tuple[float, ...]]]:
    rows = [(row.team or UNTAGGED, row.hours) for row in found.rows]
    if len(rows) <= MOST_ROWS:
        return rows
    shown, others = rows[: MOST_ROWS - 1], rows[MOST_ROWS - 1 :]
    together = tuple(map(sum, zip(*(hours for _, hours in others), strict=True)))
    return [*shown, (f"({len(others)} others)", together)]


def _row(
    name: str, row: Sequence[float], columns: Sequence[_Column], y: float, most: float
) -> HeatRow:
    shown = clean(name, limit=_MAX_NAME)
    is_wide = (_RIGHT - _LEFT) / len(columns) >= _NUMBER_WIDTH
    return HeatRow(
        name=shown,
        y=y,
        cells=tuple(
            Cell(
                x=column.x,
                opacity=_opacity(hours / column.hours, most),
                number=_short(hours) if is_wide and hours else "",
                title=f"{shown}, from {column.start}: {hours:,.1f} device-hours, "
                f"{figures.count(hours / column.hours)} devices on average",
            )
            for hours, column in zip(row, columns, strict=True)
        ),
        total=_short(sum(row)),
    )


def _ticks(columns: Sequence[_Column]) -> tuple[Tick, ...]:
    """Return the first day of as many columns as have room for one."""
    step = ceil(_LABEL_WIDTH * len(columns) / (_RIGHT - _LEFT))
    return tuple(Tick(each.x, f"{each.start:%d %b}") for each in columns[::step])


def _opacity(value: float, most: float) -> float:
    share = value / most if most else 0.0
    return round(_FAINTEST + (_STRONGEST - _FAINTEST) * share, 3)


def _short(hours: float) -> str:
    return f"{hours:,.0f}" if hours < _THOUSANDS_FROM else f"{hours / 1000:,.0f}k"
