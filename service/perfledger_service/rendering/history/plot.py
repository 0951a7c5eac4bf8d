"""Draws a searched history: points, the level of each stretch, and the changes.

Of thousands of points, each column shows the lowest, middle and highest: no spike is lost, and the
file stays small.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from perfledger import rounding
from perfledger.records import SHORT_SHA_DIGITS, short_sha
from perfledger_service.rendering.chart.axis import linear_axis, places_axis, widen_range
from perfledger_service.rendering.chart.marks import (
    BarMark,
    DotMark,
    LineMark,
    Mark,
    RuleMark,
    Tone,
)
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.history.change_rows import (
    FindingRow,
    finding_rows,
    findings_sentence,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.values.measured_series import SearchedSeries

_MARGIN = 0.08  # of the range, above and below
_MAX_VALUE = 4e307
_MAX_COLUMNS = 330  # two units of the picture's width each
_MAX_LABELS = 6  # hashes of commits that fit beside each other
_DAY_LETTERS = 10  # of a time: 2026-11-29

_LEVEL = LegendKey(label="median", tone=Tone.INK, shape=KeyShape.LINE)
_CHANGE = LegendKey(label="change point", tone=Tone.ORANGE, shape=KeyShape.DASHES)
_TRANSIENT = LegendKey(label="excursion", tone=Tone.MUTED, opacity=0.25)
_EPOCH = LegendKey(label="new epoch", tone=Tone.MUTED, shape=KeyShape.LINE)


def history_svg(searched: SearchedSeries) -> str:
    """Return the history as a standalone SVG document."""
    chart = history_chart(searched)
    return picture_svg(
        Picture(title=searched.series.name, summary=findings_sentence(searched), charts=(chart,))
    )


def history_chart(searched: SearchedSeries) -> Chart:
    """Return the chart of a history; it has at least one value."""
    values, labels = searched.series.values, searched.series.labels
    finite = [value for value in values if not math.isnan(value)]
    factor, unit = number_format.axis(max(map(abs, finite)), searched.series.unit)
    if max(map(abs, finite)) * factor > _MAX_VALUE:  # the range from -1e308 to 1e308 would overflow
        factor /= 4
    low, high = widen_range(min(finite) * factor, max(finite) * factor, share=_MARGIN)
    names = [_tick(label) for label in labels] if any(labels) else _numbers(values)
    return Chart(
        x=places_axis(names, most=_MAX_LABELS),
        y=linear_axis(low, high, title=unit),
        marks=(
            *_transients(searched),
            *(RuleMark(x=at - 0.5, width=1.5, title="new epoch") for at in searched.series.epochs),
            *(_dot(searched, place, factor, unit) for place in _drawn_places(values)),
            *_levels(searched, factor),
            *_changes(searched),
        ),
        legend=tuple(_legend(searched)),
        height=216.0,
    )


def _tick(label: str) -> str:
    """Return a commit's short hash, or the day of a time."""
    sha = short_sha(label)
    return sha if label.startswith(sha) and len(sha) == SHORT_SHA_DIGITS else label[:_DAY_LETTERS]


def _numbers(values: Sequence[float]) -> list[str]:
    return [f"{number:,}" for number, _ in enumerate(values, start=1)]


def _legend(searched: SearchedSeries) -> Iterator[LegendKey]:
    yield _LEVEL
    if searched.history.changes:
        yield _CHANGE
    if searched.history.transients:
        yield _TRANSIENT
    if searched.series.epochs:
        yield _EPOCH


def _drawn_places(values: Sequence[float]) -> list[int]:
    """Return the indices of the points to draw: all, or three per column if there are many."""
    places = [index for index, value in enumerate(values) if not math.isnan(value)]
    if len(places) <= 3 * _MAX_COLUMNS:
        return places
    bounds = [column * len(places) // _MAX_COLUMNS for column in range(_MAX_COLUMNS + 1)]
    chosen: set[int] = set()
    for first, stop in pairwise(bounds):
        column = sorted(places[first:stop], key=lambda place: values[place])
        chosen.update((column[0], column[len(column) // 2], column[-1]))
    return sorted(chosen)


def _transients(searched: SearchedSeries) -> Iterator[Mark]:
    for one in searched.history.transients:
        yield BarMark(x=(one.first - 0.5, one.last + 0.5), tone=Tone.MUTED, opacity=0.14)


def _dot(searched: SearchedSeries, place: int, factor: float, unit: str) -> DotMark:
    labels, value = searched.series.labels, searched.series.values[place] * factor
    name = labels[place] if labels and labels[place] else f"point {place + 1:,}"
    title = f"{name}: {rounding.digits(value)} {unit}".rstrip()
    return DotMark(x=place, y=value, radius=2.7, opacity=0.65, title=title)


def _levels(searched: SearchedSeries, factor: float) -> Iterator[LineMark]:
    """Yield a line at the median of each stretch between two change points."""
    values = searched.series.values
    away = {
        index for one in searched.history.transients for index in range(one.first, one.last + 1)
    }
    for first, stop in searched.stretches:
        stretch = [
            values[index]
            for index in range(first, stop)
            if index not in away and not math.isnan(values[index])
        ]
        if stretch:
            level = median(stretch) * factor
            yield LineMark(points=((first - 0.5, level), (stop - 0.5, level)), tone=Tone.INK)


def _changes(searched: SearchedSeries) -> Iterator[Mark]:
    """Yield each change point and the interval of its place."""
    marked = (row for row in finding_rows(searched) if row.mark)
    for change, row in zip(searched.history.changes, marked, strict=True):
        span = (change.earliest - 0.5, change.latest - 0.5)
        yield BarMark(x=span, tone=Tone.ORANGE, opacity=0.18)
        yield RuleMark(
            x=change.index - 0.5,
            tone=Tone.ORANGE,
            is_dashed=True,
            title=_words(row),
            label=row.mark,
        )


def _words(row: FindingRow) -> str:
    """Return a change point in one line; its label is untrusted."""
    where = f"{row.label}, {row.place}" if row.label else row.place
    interval = f" ({row.interval})" if row.interval else ""
    return f"{row.what} {row.size}{interval} at {where}"
