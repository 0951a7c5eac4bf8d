"""Draws the measured commits of a bisection with the intervals of their changes."""

import math
from collections.abc import Callable, Sequence

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
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.values.commit_bisection import BisectedCommit, CommitBisection, CommitState

WIDTH = 76  # columns: a terminal's 80 less an indent
_NAME = SHORT_SHA_DIGITS + 1  # columns of a commit's hash
_MAX_LABELS = 6  # hashes of commits that fit beside each other
_MARGIN = 0.08  # of the range, above and below
_BAR, _DOT = "\N{BOX DRAWINGS LIGHT HORIZONTAL}", "\N{BLACK CIRCLE}"
_ENDS = ("\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}", "\N{BOX DRAWINGS LIGHT VERTICAL AND LEFT}")
_ZERO = "\N{BOX DRAWINGS LIGHT QUADRUPLE DASH VERTICAL}"
_TONES = {
    CommitState.BEFORE: Tone.GREEN,
    CommitState.AFTER: Tone.RED,
    CommitState.BAD: Tone.RED,
}


def bisection_text(result: CommitBisection) -> str:
    """Return a line per commit that was compared with the good one; "" for fewer than two."""
    rows = [row for row in result.commits if row.change is not None]
    low, high = _range(rows)
    if len(rows) <= 1 or not math.isfinite(high - low):
        return ""
    columns = WIDTH - _NAME
    if low == high:
        return ""

    def at(value: float) -> int:
        return round((value - low) / (high - low) * (columns - 1))

    lines = [_text_line(row, at, columns) for row in rows]
    ends = (number_format.percent(low), number_format.percent(high))
    scale = f"{ends[0]}{ends[1]:>{columns - len(ends[0])}}"
    return "\n".join([*lines, f"{'':{_NAME}}{scale}"])


def bisection_svg(result: CommitBisection) -> str:
    """Return the commits as a standalone SVG document."""
    rows = [row for row in result.commits if row.change is not None]
    low, high = widen_range(*(100 * end for end in _range(rows)), share=_MARGIN)
    names = [short_sha(row.revision.sha) for row in result.commits]
    chart = Chart(
        x=places_axis(names, most=_MAX_LABELS),
        y=linear_axis(low, high, title="% against the good commit"),
        marks=tuple(_marks(result)),
        legend=(
            LegendKey(label="95 % interval", tone=Tone.INK, shape=KeyShape.LINE),
            LegendKey(label="may have made the change", tone=Tone.ORANGE, opacity=0.25),
            LegendKey(label="skipped", tone=Tone.MUTED, opacity=0.25),
        ),
        height=216.0,
    )
    summary = f"{result.status}: {len(result.candidates)} of {len(result.commits) - 1} commits"
    return picture_svg(Picture(title=clean(result.workload), summary=summary, charts=(chart,)))


def _range(rows: Sequence[BisectedCommit]) -> tuple[float, float]:
    """Return the range of all intervals, including no change."""
    bounds = [0.0, *(end for row in rows for end in (row.low, row.high) if end is not None)]
    return min(bounds), max(bounds)


def _text_line(row: BisectedCommit, at: Callable[[float], int], columns: int) -> str:
    line = [" "] * columns
    line[at(0.0)] = _ZERO
    if row.change is not None and row.low is not None and row.high is not None:
        first, last = at(row.low), at(row.high)
        line[first : last + 1] = [_BAR] * (last - first + 1)
        line[first], line[last] = _ENDS
        line[at(row.change)] = _DOT
    sha = short_sha(row.revision.sha)
    return f"{sha:{_NAME}}{''.join(line).rstrip()}"


def _marks(result: CommitBisection) -> list[Mark]:
    marks: list[Mark] = [
        BarMark(x=(result.first - 0.5, result.last + 0.5), tone=Tone.ORANGE, opacity=0.2),
        RuleMark(y=0.0),
    ]
    for row in result.commits:
        place = float(row.position)
        if row.state is CommitState.SKIPPED:
            title = clean(f"skipped: {row.reason}")
            bar = (place - 0.3, place + 0.3)
            marks.append(BarMark(x=bar, tone=Tone.MUTED, opacity=0.2, title=title))
        if row.change is None or row.low is None or row.high is None:
            continue
        tone = _TONES.get(row.state, Tone.INK)
        title = clean(f"{row.revision.subject}: {number_format.percent(row.change)}")
        interval = ((place, 100 * row.low), (place, 100 * row.high))
        marks.append(LineMark(points=interval, tone=tone))
        marks.append(DotMark(x=place, y=100 * row.change, tone=tone, title=title))
    return marks
