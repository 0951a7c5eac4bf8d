"""Shows the waterfall from base's step to head's as rows, text and chart.

Each row begins where the previous one ends, so the bars add up to the change of the step.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from perfledger.rounding import for_programs
from perfledger_profiles.diff.cause import BucketChange, StepTimeExplanation
from perfledger_runners.bundles.value_checks import MAX_SECONDS
from perfledger_service.rendering.chart.axis import Axis, linear_axis, rows_axis
from perfledger_service.rendering.chart.marks import BarMark, LineMark, Mark, TextMark, Tone
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import MIN_SECONDS

# Relative to the step: a larger difference between the buckets and the change gets its own row.
_ROUNDING = 1e-6
# If the change is a smaller share of the step, bars from zero would hide it, so the axis starts
# above zero.
_SMALL_CHANGE = 0.1
_MARGIN_SHARE = 0.5  # of the change, left of the shortest bar on such an axis

_RIGHT = 90.0  # for the figure of the longest bar
_PALE = 0.45

_BAR, _TRACK = "\N{FULL BLOCK}", "\N{LIGHT SHADE}"
_TEXT_COLUMNS = 44  # of the bars; with names and figures a line has 72 characters


# A light background in both themes of the page, like the covering grey.
_DIAGRAM_STYLE = (
    '%%{{init: {{"theme": "base", "themeVariables": {{"xyChart": {{"backgroundColor": "#ffffff", '
    '"plotColorPalette": "#cf222e,#1a7f37,#d0d7de"}}}}, "xyChart": {{"height": {height}}}}}}}%%'
)
_DIAGRAM_ROW, _DIAGRAM_HEAD = 44, 80  # pixels
# In Mermaid's quoted texts these end the text, begin an entity or a comment, or are markup.
_NOT_IN_LABELS = re.compile(r'["`#;<>{}\[\]\\%]')


class BarKind(StrEnum):
    """The kind of a row of the waterfall."""

    STEP = "step"
    SLOWER = "slower"
    FASTER = "faster"
    NOISE = "noise"  # within the difference between two profiles of the same code
    RESIDUAL = "residual"


_TONES = {
    BarKind.STEP: Tone.MUTED,
    BarKind.SLOWER: Tone.RED,
    BarKind.FASTER: Tone.GREEN,
    BarKind.NOISE: Tone.MUTED,
    BarKind.RESIDUAL: Tone.AMBER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallRow:
    """One bar, from `first_seconds` to `last_seconds`, and its texts, all of them trusted."""

    kind: BarKind
    name: str
    figure: str
    detail: str
    first_seconds: float
    last_seconds: float


def waterfall_rows(explanation: StepTimeExplanation) -> tuple[WaterfallRow, ...]:
    """Return base's step, the buckets with any time, head's step and the residual.

    Empty if the explanation has no buckets or impossible times.
    """
    rows = tuple(_rows(explanation)) if explanation.buckets else ()
    is_drawable = all(abs(row.last_seconds) < MAX_SECONDS for row in rows)
    return rows if is_drawable else ()


def waterfall_text(explanation: StepTimeExplanation) -> str:
    """Return the waterfall as lines of at most 72 characters, "" without buckets."""
    rows = waterfall_rows(explanation)
    if not rows:
        return ""
    low, high = _range(rows)
    axis = Axis(low=low, high=high)
    width = max(len(row.figure) for row in rows)
    lines = [
        f"{row.name:<14} {row.figure:>{width}}  {_text_bar(row, axis)}".rstrip() for row in rows
    ]
    if low > 0:
        lines.append(f"{'':<14} {'':>{width}}  ({_note(low)})")
    return "\n".join(lines)


def waterfall_diagram(explanation: StepTimeExplanation) -> str:
    """Return the waterfall as a chart in Mermaid's language, "" without buckets.

    GitHub draws Mermaid but shows no SVG. Bars of such a chart begin at the axis, so a later grey
    bar covers the part below the difference; the coloured part above it is what was added or saved.
    """
    rows = [row for row in waterfall_rows(explanation) if row.kind is not BarKind.RESIDUAL]
    if not rows:
        return ""
    low, high = _range(rows)
    factor, unit = number_format.axis(high, "s")
    ends = [sorted((max(one.first_seconds, low), one.last_seconds)) for one in rows]
    series = (
        [
            most if row.kind is BarKind.SLOWER else low
            for row, (_, most) in zip(rows, ends, strict=True)
        ],
        [
            most if row.kind is BarKind.FASTER else low
            for row, (_, most) in zip(rows, ends, strict=True)
        ],
        [
            most if row.kind is BarKind.STEP else least
            for row, (least, most) in zip(rows, ends, strict=True)
        ],
    )
    labels = ", ".join(diagram_label(f"{row.name} {row.figure}") for row in rows)
    bars = (f"  bar [{', '.join(for_programs(at * factor) for at in each)}]" for each in series)
    return "\n".join(
        (
            _DIAGRAM_STYLE.format(height=_DIAGRAM_HEAD + _DIAGRAM_ROW * len(rows)),
            "xychart-beta horizontal",
            f"  x-axis [{labels}]",
            f'  y-axis "{unit}" {for_programs(low * factor)} --> {for_programs(high * factor)}',
            *bars,
        )
    )


def diagram_label(text: str) -> str:
    """Return text quoted for Mermaid."""
    return f'"{_NOT_IN_LABELS.sub(" ", clean(text))}"'


def waterfall_chart(explanation: StepTimeExplanation) -> Chart | None:
    """Return the waterfall's chart, None without buckets."""
    rows = waterfall_rows(explanation)
    if not rows:
        return None
    low, high = _range(rows)
    factor, unit = number_format.axis(high, "s")
    marks: list[Mark] = []
    for number, row in enumerate(rows):
        marks += _marks(row, number, low)
        if row is not rows[-1]:
            ends = ((row.last_seconds, number + 0.85), (row.last_seconds, number + 1.15))
            marks.append(LineMark(points=ends, tone=Tone.MUTED, width=1.0, is_dashed=True))
    return Chart(
        x=linear_axis(low, high, factor=factor, title=unit),
        y=rows_axis([row.name for row in rows]),
        marks=tuple(marks),
        caption=_note(low) if low > 0 else "",
        right=_RIGHT,
    )


def waterfall_summary(explanation: StepTimeExplanation) -> str:
    """Return both profiled steps and their difference."""
    base_s, head_s = explanation.base_step_seconds, explanation.head_step_seconds
    ends = f"{number_format.seconds(base_s)} to {number_format.seconds(head_s)}"
    return f"profiled step from {ends} ({number_format.signed_seconds(head_s - base_s)})"


def _rows(explanation: StepTimeExplanation) -> Iterator[WaterfallRow]:
    at = explanation.base_step_seconds
    yield _step_row("base", at)
    for change in explanation.buckets:
        if change.base_seconds or change.head_seconds:
            yield _bucket_row(change, at)
        at += change.delta_seconds
    head_s = explanation.head_step_seconds
    if abs(head_s - at) > _ROUNDING * head_s:
        yield _row(_kind(head_s - at), "in no bucket", at, head_s, detail="")
    yield _step_row("head", head_s)
    left = explanation.residual_seconds
    if left is not None:
        detail = "the change without a profiler minus that of the profiles"
        yield _row(BarKind.RESIDUAL, "unprofiled", head_s, head_s + left, detail=detail)


def _step_row(name: str, seconds: float) -> WaterfallRow:
    return WaterfallRow(
        kind=BarKind.STEP,
        name=name,
        figure=number_format.seconds(seconds),
        detail=f"{name}'s profiled step",
        first_seconds=0.0,
        last_seconds=seconds,
    )


def _bucket_row(change: BucketChange, at: float) -> WaterfallRow:
    before, after = map(number_format.seconds, (change.base_seconds, change.head_seconds))
    detail = f"{before} on base, {after} on head"
    is_noise = abs(change.delta_seconds) <= change.noise_seconds
    if change.noise_seconds > 0:
        detail += f"; accurate to ±{number_format.seconds(change.noise_seconds)}"
    kind = BarKind.NOISE if is_noise else _kind(change.delta_seconds)
    return _row(
        kind, vocabulary.bucket(change.bucket), at, at + change.delta_seconds, detail=detail
    )


def _row(kind: BarKind, name: str, first_s: float, last_s: float, *, detail: str) -> WaterfallRow:
    return WaterfallRow(
        kind=kind,
        name=name,
        figure=number_format.signed_seconds(last_s - first_s),
        detail=detail,
        first_seconds=first_s,
        last_seconds=last_s,
    )


def _kind(delta_s: float) -> BarKind:
    return BarKind.SLOWER if delta_s > 0 else BarKind.FASTER


def _range(rows: Sequence[WaterfallRow]) -> tuple[float, float]:
    """Return the ends of the axis: from zero, unless that would hide a small change."""
    ends = [row.last_seconds for row in rows]
    low, high = min(ends), max(ends)
    if high - low < _SMALL_CHANGE * high:
        low = max(low - _MARGIN_SHARE * (high - low), 0.0)
    else:
        low = min(low, 0.0)
    return (low, high) if high - low > MIN_SECONDS else (0.0, max(high, MIN_SECONDS))


def _note(low: float) -> str:
    return f"the axis begins at {number_format.seconds(low)}"


def _marks(row: WaterfallRow, number: int, low: float) -> Iterator[Mark]:
    first, last = max(row.first_seconds, low), row.last_seconds
    title = f"{row.name} {row.figure}{': ' if row.detail else ''}{row.detail}"
    yield BarMark(
        x=(min(first, last), max(first, last)),
        y=(number + 0.15, number + 0.85),
        tone=_TONES[row.kind],
        opacity=_PALE if row.kind in (BarKind.RESIDUAL, BarKind.NOISE) else 1.0,
        title=title,
    )
    yield TextMark(x=max(first, last), y=number + 0.5, text=row.figure, dx=6.0)


def _text_bar(row: WaterfallRow, axis: Axis) -> str:
    first, last = (
        round(axis.share(max(seconds, axis.low)) * _TEXT_COLUMNS)
        for seconds in (row.first_seconds, row.last_seconds)
    )
    if row.first_seconds == row.last_seconds:
        return ""
    low, high = min(first, last), max(first, last)
    shape = _TRACK if row.kind in (BarKind.RESIDUAL, BarKind.NOISE) else _BAR
    return " " * min(low, _TEXT_COLUMNS - 1) + shape * max(high - low, 1)
