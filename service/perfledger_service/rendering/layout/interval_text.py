"""Draws a change as a line of characters: interval as bar, margin as band, pairs as dots."""

import math
from collections.abc import Sequence

from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_service.rendering.layout import number_format

WIDTH = 74  # columns: a terminal's 80 less an indent
_LABEL = 9  # columns of the figure at either end
_BAND, _BAR, _ESTIMATE, _DOT = (
    "\N{LIGHT SHADE}",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}",
    "\N{BLACK CIRCLE}",
    "\N{BULLET}",
)
_ENDS = ("\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}", "\N{BOX DRAWINGS LIGHT VERTICAL AND LEFT}")
_ZERO = "\N{BOX DRAWINGS LIGHT QUADRUPLE DASH VERTICAL}"


def interval_text(estimate: EffectEstimate, *, margin: float, changes: Sequence[float] = ()) -> str:
    """Return a line with the interval over the margin, and one with the change of each pair.

    All values are relative; without `changes` there is no second line. "" if a bound is not finite.
    """
    marks = (estimate.low, estimate.high, -margin, margin, 0.0, *changes)
    low, high = min(marks), max(marks)
    if not all(map(math.isfinite, marks)) or low == high:
        return ""
    columns = WIDTH - 2 * (_LABEL + 1)

    def at(value: float) -> int:
        return round((value - low) / (high - low) * (columns - 1))

    line = [" "] * columns
    for first, last, shape in ((-margin, margin, _BAND), (estimate.low, estimate.high, _BAR)):
        line[at(first) : at(last) + 1] = [shape] * (at(last) - at(first) + 1)
    marks_in_line = ((0.0, _ZERO), (estimate.low, _ENDS[0]), (estimate.high, _ENDS[1]))
    for value, shape in (*marks_in_line, (estimate.change, _ESTIMATE)):
        line[at(value)] = shape
    ends = (number_format.percent(low), number_format.percent(high))
    first_line = f"{ends[0]:>{_LABEL}} {''.join(line)} {ends[1]}"
    if not changes:
        return first_line
    dots = [" "] * columns
    for change in changes:
        dots[at(change)] = _DOT
    return f"{' ' * (_LABEL + 1)}{''.join(dots)}".rstrip() + f"\n{first_line}"
