"""Turns a searched history into a plot: points, the level of each stretch, and what was found.

Coordinates are in the plot's own units, y downwards. A history of thousands of points is drawn as
the lowest, middle and highest of each column: a spike is never lost, and the file stays small.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from perfledger_service.pages import figures
from perfledger_service.pages.environment import render
from perfledger_service.pages.findings import FindingRow, finding_rows, summary
from perfledger_service.pages.scale import Dot, Scale, Tick, nice_ticks
from perfledger_service.views import SearchedSeries

# As the template draws it.
_LEFT, _RIGHT = 64.0, 944.0
_TOP, _BOTTOM = 40.0, 256.0
_ROOM = 0.08  # of the range, free above and below
_MAX_COLUMNS = 440  # two units of the plot's width for each
_MAX_LABELS = 8


@dataclass(frozen=True, slots=True)
class Level:
    """A stretch between two change points, at the median of what was measured there."""

    first: float
    last: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change point: where it is, the stretch that its place lies in, and what it says."""

    x: float
    first: float
    last: float
    mark: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPlot:
    """A history as shapes."""

    name: str  # foreign
    summary: str
    unit: str
    dots: tuple[Dot, ...]
    levels: tuple[Level, ...]
    changes: tuple[Change, ...]
    transients: tuple[tuple[float, float], ...]  # x of their two ends
    epochs: tuple[float, ...]  # x
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def history_plot(searched: SearchedSeries) -> HistoryPlot:
    """Return the plot of a history; it has at least one value."""
    values, labels = searched.series.values, searched.series.labels
    known = [value for value in values if not math.isnan(value)]
    factor, unit = figures.axis(max(map(abs, known)), searched.series.unit)
    low, high = min(known) * factor, max(known) * factor
    room = (high - low) * _ROOM or abs(high) * _ROOM or 1.0
    if not math.isfinite(high - low + 2 * room):  # from -1e308 to 1e308 there is no scale
        factor, room = factor / 4, 0.0
        low, high = low / 4, high / 4
    y = Scale(low - room, high + room, _BOTTOM, _TOP)
    x = Scale(-0.5, len(values) - 0.5, _LEFT, _RIGHT)
    every = math.ceil(len(values) / _MAX_LABELS)
    return HistoryPlot(
        name=searched.series.name,
        summary=summary(searched),
        unit=unit,
        dots=tuple(
            Dot(x.at(place), y.at(values[place] * factor), _title(searched, place, factor, unit))
            for place in _drawn(values)
        ),
        levels=tuple(_levels(searched, x, y, factor)),
        changes=tuple(_changes(searched, x)),
        transients=tuple(
            (x.at(one.first - 0.5), x.at(one.last + 0.5)) for one in searched.history.transients
        ),
        epochs=tuple(x.at(index - 0.5) for index in searched.series.epochs),
        x_ticks=tuple(
            Tick(x.at(place), labels[place][:10] if any(labels) else f"{place + 1:,}")
            for place in range(0, len(values), every)
        ),
        y_ticks=tuple(Tick(y.at(at), f"{at:.5g}") for at in nice_ticks(y.low, y.high)),
    )


def history_svg(searched: SearchedSeries) -> str:
    """Return the plot as an SVG document that stands alone, in light and dark."""
    return render("history.svg.j2", plot=history_plot(searched)) + "\n"


def _drawn(values: Sequence[float]) -> list[int]:
    """Return the places that are drawn: all, or three of each column of many."""
    places = [place for place, value in enumerate(values) if not math.isnan(value)]
    if len(places) <= 3 * _MAX_COLUMNS:
        return places
    bounds = [column * len(places) // _MAX_COLUMNS for column in range(_MAX_COLUMNS + 1)]
    kept: set[int] = set()
    for first, stop in pairwise(bounds):
        column = sorted(places[first:stop], key=lambda place: values[place])
        kept.update((column[0], column[len(column) // 2], column[-1]))
    return sorted(kept)


def _levels(searched: SearchedSeries, x: Scale, y: Scale, factor: float) -> Iterator[Level]:
    values = searched.series.values
    away = {
        place for one in searched.history.transients for place in range(one.first, one.last + 1)
    }
    for first, stop in searched.stretches:
        stretch = [
            values[place]
            for place in range(first, stop)
            if place not in away and not math.isnan(values[place])
        ]
        if stretch:
            yield Level(x.at(first - 0.5), x.at(stop - 0.5), y.at(median(stretch) * factor))


def _changes(searched: SearchedSeries, x: Scale) -> Iterator[Change]:
    marked = (row for row in finding_rows(searched) if row.mark)
    for change, row in zip(searched.history.changes, marked, strict=True):
        yield Change(
            x=x.at(change.index - 0.5),
            first=x.at(change.earliest - 0.5),
            last=x.at(change.latest - 0.5),
            mark=row.mark,
            title=_words(row),
        )


def _words(row: FindingRow) -> str:
    """Return a change point in one line; its label is foreign."""
    where = f"{row.label}, {row.place}" if row.label else row.place
    interval = f" ({row.interval})" if row.interval else ""
    return f"{row.what} {row.size}{interval} at {where}"


def _title(searched: SearchedSeries, place: int, factor: float, unit: str) -> str:
    labels = searched.series.labels
    name = labels[place] if labels and labels[place] else f"point {place + 1:,}"
    value = f"{searched.series.values[place] * factor:.4g}{figures.NBSP}{unit}"
    return f"{name}: {value}".rstrip()
