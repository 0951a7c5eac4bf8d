"""Draws a history in characters: points, levels and marks of the changes.

A point is a dot, or an arrow if it is beyond the scale; the level of a stretch between two change
points is a line. Each change point has a mark below, each new epoch a bar. With more points than
columns, a column shows the median of its points.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from perfledger_service.rendering.history.change_rows import mark_of
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.values.measured_series import SearchedSeries

WIDTH = 76  # columns: a terminal's 80 less an indent
_HEIGHT = 7
_AXIS = 11  # columns for the labels on the left
_DOT, _LINE = "\N{BULLET}", "\N{BOX DRAWINGS LIGHT HORIZONTAL}"
_ABOVE, _BELOW = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"
_SIDE = "\N{BOX DRAWINGS LIGHT VERTICAL}"
# Share of the columns clipped at either end of the scale: otherwise single spikes would flatten the
# rest.
_CLIPPED = 0.02
# Relative to the middle. A smaller range is noise and should not fill the picture's full height.
_MIN_RANGE = 0.01


def sparkline(searched: SearchedSeries) -> str:
    """Return the picture's lines, each at most WIDTH characters long."""
    values = searched.series.values
    columns = min(WIDTH - _AXIS - 1, len(values))
    starts = [column * len(values) // columns for column in range(columns + 1)]
    dots = [_median(values[first:stop]) for first, stop in pairwise(starts)]
    level_values = _level_values(searched)
    levels = _levels(searched, level_values)
    lines = [levels[first] for first in starts[:-1]]
    low, high = _range(
        [_median(level_values[first:stop]) for first, stop in pairwise(starts)], lines
    )
    cells = [[" "] * columns for _ in range(_HEIGHT)]
    for heights, is_line in ((lines, True), (dots, False)):
        for column, height in enumerate(heights):
            if not math.isnan(height):
                shape = _LINE if is_line else _shape(height, low, high)
                cells[_row(height, low, high)][column] = shape
    unit = searched.series.unit
    labels = {_row(value, low, high): vocabulary.value(value, unit) for value in (high, low)}
    rows = [
        f"{labels.get(row, ''):>{_AXIS - 1}} {_SIDE}{''.join(cells[row])}" for row in range(_HEIGHT)
    ]
    marks = _marks(searched, columns)
    return "\n".join([*(row.rstrip() for row in rows), *([marks] if marks else [])])


def _level_values(searched: SearchedSeries) -> list[float]:
    """Return the values without those of transients."""
    values = list(searched.series.values)
    for transient in searched.history.transients:
        stop = transient.last + 1
        values[transient.first : stop] = [math.nan] * (stop - transient.first)
    return values


def _levels(searched: SearchedSeries, level_values: Sequence[float]) -> list[float]:
    """Return the level of each point's stretch, the median of its values."""
    levels: list[float] = []
    for first, stop in searched.stretches:
        levels.extend([_median(level_values[first:stop])] * (stop - first))
    return levels


def _median(values: Sequence[float]) -> float:
    numbers = [value for value in values if not math.isnan(value)]
    return median(numbers) if numbers else math.nan


def _range(dots: Sequence[float], lines: Sequence[float]) -> tuple[float, float]:
    numbers = sorted(value for value in dots if not math.isnan(value))
    clipped = int(len(numbers) * _CLIPPED)
    central = numbers[clipped : len(numbers) - clipped]
    central += [value for value in lines if not math.isnan(value)]
    low, high = min(central), max(central)
    padding = (_MIN_RANGE * abs(high / 2 + low / 2) - (high - low)) / 2
    return (low - padding, high + padding) if padding > 0 else (low, high)


def _shape(value: float, low: float, high: float) -> str:
    """Return a dot, or an arrow for a value beyond the scale."""
    if value > high:
        return _ABOVE
    return _BELOW if value < low else _DOT


def _row(value: float, low: float, high: float) -> int:
    """Return the row of a value, 0 on top; values beyond the scale are at its edge."""
    if not low < high:
        return _HEIGHT // 2
    share = (value / 2 - low / 2) / (high / 2 - low / 2)  # halved, because 1e308 - -1e308 overflows
    return round((1 - min(max(share, 0.0), 1.0)) * (_HEIGHT - 1))


def _marks(searched: SearchedSeries, columns: int) -> str:
    line = [" "] * columns
    marks = [(index, _SIDE) for index in searched.series.epochs]
    marks += [(change.index, mark_of(n)) for n, change in enumerate(searched.history.changes)]
    for index, mark in marks:
        # The last column that begins at or before it.
        line[((index + 1) * columns - 1) // len(searched.series.values)] = mark
    return (" " * (_AXIS + 1) + "".join(line)).rstrip()
