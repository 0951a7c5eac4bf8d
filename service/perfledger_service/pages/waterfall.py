"""Turns an explanation into the waterfall from base's step to head's: rows, text and picture.

Each row begins where the one before it ended, so the bars add up to the change of the step.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from perfledger_profiles.cause import BucketChange, Explanation
from perfledger_service.pages import figures, words
from perfledger_service.pages.scale import Scale, Tick, nice_ticks

# Of a step: what the buckets may miss the change by before it is shown as a row of its own.
_ROUNDING = 1e-6
# With a change below this share of the step, bars from zero would hide it: the axis begins later.
_SMALL_CHANGE = 0.1
# Thirty years, and less than a cycle: beyond them there is nothing to draw.
_LONGEST_SECONDS = 1e9
_SHORTEST_SECONDS = 1e-12
_ROOM = 0.5  # of the change, left of the shortest bar on such an axis

# As the template draws it.
_LEFT, _RIGHT = 150.0, 850.0
_TOP, _ROW = 56.0, 26.0
_BELOW = 34.0

_BAR, _TRACK = "\N{FULL BLOCK}", "\N{LIGHT SHADE}"
_TEXT_COLUMNS = 44  # of the bars: with names and figures, a line has 72


class Kind(StrEnum):
    """What a row of the waterfall is; the style sheet knows these names."""

    STEP = "step"
    SLOWER = "slower"
    FASTER = "faster"
    NOISE = "noise"  # no more than two profiles of the same code differ by
    RESIDUAL = "residual"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallRow:
    """One bar, from `first_seconds` to `last_seconds`, and its words; all of them are ours."""

    kind: Kind
    name: str
    figure: str
    detail: str
    first_seconds: float
    last_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One row as a shape; y is its top."""

    row: WaterfallRow
    x: float
    y: float
    width: float
    end: float  # x from which the next row goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterfallPlot:
    """A waterfall as shapes; `note` says where the axis begins if that is not zero."""

    workload: str  # foreign
    summary: str
    height: float
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    unit: str
    note: str


def waterfall_rows(explanation: Explanation) -> tuple[WaterfallRow, ...]:
    """Return base's step, the buckets that have any time, head's step and the residual.

    Empty where the explanation has no buckets, or times that no step takes.
    """
    rows = tuple(_rows(explanation)) if explanation.buckets else ()
    is_drawable = all(abs(row.last_seconds) < _LONGEST_SECONDS for row in rows)
    return rows if is_drawable else ()


def waterfall_text(explanation: Explanation) -> str:
    """Return the waterfall as lines of at most 72 characters, "" without buckets."""
    rows = waterfall_rows(explanation)
    if not rows:
        return ""
    low, high = _range(rows)
    scale = Scale(low, high, 0, _TEXT_COLUMNS)
    width = max(len(row.figure) for row in rows)
    lines = [
        f"{row.name:<14} {row.figure:>{width}}  {_text_bar(row, scale)}".rstrip() for row in rows
    ]
    if low > 0:
        lines.append(f"{'':<14} {'':>{width}}  ({_note(low)})")
    return "\n".join(lines)


def waterfall_plot(explanation: Explanation) -> WaterfallPlot | None:
    """Return the waterfall's picture, None without buckets."""
    rows = waterfall_rows(explanation)
    if not rows:
        return None
    low, high = _range(rows)
    factor, unit = figures.axis(high, "s")
    scale = Scale(low, high, _LEFT, _RIGHT)
    return WaterfallPlot(
        workload=explanation.workload,
        summary=_summary(explanation),
        height=_TOP + _ROW * len(rows) + _BELOW,
        bars=tuple(_bar(row, place, scale) for place, row in enumerate(rows)),
        ticks=tuple(
            Tick(scale.at(at / factor), f"{at:.5g}")
            for at in nice_ticks(low * factor, high * factor)
        ),
        unit=unit,
        note=_note(low) if low > 0 else "",
    )


def _rows(explanation: Explanation) -> Iterator[WaterfallRow]:
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
        detail = "what was measured without a profiler, less what the profiles differ by"
        yield _row(Kind.RESIDUAL, "unprofiled", head_s, head_s + left, detail=detail)


def _step_row(name: str, seconds: float) -> WaterfallRow:
    return WaterfallRow(
        kind=Kind.STEP,
        name=name,
        figure=figures.seconds(seconds),
        detail=f"{name}'s profiled step",
        first_seconds=0.0,
        last_seconds=seconds,
    )


def _bucket_row(change: BucketChange, at: float) -> WaterfallRow:
    before, after = map(figures.seconds, (change.base_seconds, change.head_seconds))
    detail = f"{before} on base, {after} on head"
    is_noise = abs(change.delta_seconds) <= change.noise_seconds
    if change.noise_seconds > 0:
        detail += f"; the same code differs by up to {figures.seconds(change.noise_seconds)}"
    kind = Kind.NOISE if is_noise else _kind(change.delta_seconds)
    return _row(kind, words.bucket(change.bucket), at, at + change.delta_seconds, detail=detail)


def _row(kind: Kind, name: str, first_s: float, last_s: float, *, detail: str) -> WaterfallRow:
    return WaterfallRow(
        kind=kind,
        name=name,
        figure=figures.signed_seconds(last_s - first_s),
        detail=detail,
        first_seconds=first_s,
        last_seconds=last_s,
    )


def _kind(delta_s: float) -> Kind:
    return Kind.SLOWER if delta_s > 0 else Kind.FASTER


def _range(rows: Sequence[WaterfallRow]) -> tuple[float, float]:
    """Return the axis' two ends: from zero, unless that would hide a small change."""
    ends = [row.last_seconds for row in rows]
    low, high = min(ends), max(ends)
    if high - low < _SMALL_CHANGE * high:
        low = max(low - _ROOM * (high - low), 0.0)
    else:
        low = min(low, 0.0)
    return (low, high) if high - low > _SHORTEST_SECONDS else (0.0, max(high, _SHORTEST_SECONDS))


def _note(low: float) -> str:
    return f"the axis begins at {figures.seconds(low)}"


def _bar(row: WaterfallRow, place: int, scale: Scale) -> Bar:
    first = scale.at(max(row.first_seconds, scale.low))
    last = scale.at(row.last_seconds)
    return Bar(
        row=row,
        x=min(first, last),
        y=_TOP + _ROW * place,
        width=max(round(abs(last - first), 2), 1.0),
        end=last,
    )


def _text_bar(row: WaterfallRow, scale: Scale) -> str:
    first, last = (
        round(scale.at(max(seconds, scale.low)))
        for seconds in (row.first_seconds, row.last_seconds)
    )
    if row.first_seconds == row.last_seconds:
        return ""
    low, high = min(first, last), max(first, last)
    shape = _TRACK if row.kind in (Kind.RESIDUAL, Kind.NOISE) else _BAR
    return " " * min(low, _TEXT_COLUMNS - 1) + shape * max(high - low, 1)


def _summary(explanation: Explanation) -> str:
    base_s, head_s = explanation.base_step_seconds, explanation.head_step_seconds
    ends = f"{figures.seconds(base_s)} to {figures.seconds(head_s)}"
    return f"profiled step from {ends} ({figures.signed_seconds(head_s - base_s)})"
