"""Draws two steps as a differential flame graph.

The form is Gregg's (ACM Queue 14-2, 2016) with the root on top: a frame is as wide as its time on
head, and its colour says whether it became slower or faster. Orange and blue are distinguishable
for everybody, and the label of a changed frame begins with a sign.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_profiles.flame_graph.frame_tree import Frame
from perfledger_service.rendering.chart.axis import Axis, linear_axis
from perfledger_service.rendering.chart.marks import BarMark, Tone
from perfledger_service.rendering.chart.picture import Chart, LegendKey
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.rendering.layout.short_name import short_name
from perfledger_service.rendering.trace.flame_graph.frame_change import change_tone

# A page has a picture for each changed workload, with about 200 bytes per frame.
MAX_DRAWN = 120
# Of the step: a narrower frame is a line without a name.
NARROWEST_SHARE = 0.002
# Of the largest change of a frame; frames that changed less are pale.
PALE_SHARE = 0.25

_ROW_HEIGHT = 18.0
_EDGE = 12.0  # left and right of the plot
_GAP = 0.06  # of a row, between two rows
_FULL, _PALE, _FAINT = 1.0, 0.4, 0.2
_SIGNS = {Tone.ORANGE: "+ ", Tone.BLUE: "- ", Tone.MUTED: ""}
_WORDS = {Tone.ORANGE: ", slower", Tone.BLUE: ", faster", Tone.MUTED: ""}
_LEGEND = (
    LegendKey(label="+ slower on head", tone=Tone.ORANGE),
    LegendKey(label="- faster on head", tone=Tone.BLUE),
    LegendKey(label="as long as on base", tone=Tone.MUTED, opacity=_FAINT),
)


@dataclass(frozen=True, slots=True)
class _PlacedFrame:
    """A frame with its depth and its start in seconds."""

    frame: Frame
    depth: int
    start_seconds: float


def flame_chart(tree: Frame) -> Chart | None:
    """Return the chart of a step's frames, None if head has no time."""
    span_s = tree.head_seconds
    if not span_s > 0:
        return None
    placed, hidden = _widest(tree)
    largest_s = max((abs(one.frame.delta_seconds) for one in placed[1:]), default=0.0)
    factor, unit = number_format.axis(span_s, "s")
    rows = max(one.depth for one in placed) + 1
    return Chart(
        x=linear_axis(0.0, span_s, factor=factor, title=f"{unit} of head's step"),
        y=Axis(low=float(rows), high=0.0, has_grid=False),
        marks=tuple(_mark(one, tree, largest_s) for one in placed),
        caption=f"Not drawn: {number_format.quantity(hidden, 'narrow frame')}." if hidden else "",
        legend=_LEGEND,
        height=_ROW_HEIGHT * rows,
        left=_EDGE,
        right=_EDGE,
    )


def _widest(tree: Frame) -> tuple[Sequence[_PlacedFrame], int]:
    """Return the frames that are wide enough, at most MAX_DRAWN, and the number of others."""
    every = list(_placed_frames(tree, depth=0, start_s=0.0))
    wide = [one for one in every if one.frame.head_seconds > 0]
    narrowest_s = NARROWEST_SHARE * tree.head_seconds
    if len(wide) > MAX_DRAWN:
        longest_first = sorted((one.frame.head_seconds for one in wide), reverse=True)
        narrowest_s = max(narrowest_s, longest_first[MAX_DRAWN])
    widest = [every[0], *(one for one in wide[1:] if one.frame.head_seconds > narrowest_s)]
    return widest, len(wide) - len(widest)


def _placed_frames(frame: Frame, *, depth: int, start_s: float) -> Iterator[_PlacedFrame]:
    """Yield a frame and those in it, each before the frames in it, side by side."""
    yield _PlacedFrame(frame, depth, start_s)
    for one in frame.frames:
        yield from _placed_frames(one, depth=depth + 1, start_s=start_s)
        start_s += one.head_seconds


def _mark(placed: _PlacedFrame, tree: Frame, largest_s: float) -> BarMark:
    frame, tone = placed.frame, change_tone(placed.frame, tree)
    start_s, end_s = placed.start_seconds, placed.start_seconds + frame.head_seconds
    is_large = abs(frame.delta_seconds) >= PALE_SHARE * largest_s
    return BarMark(
        x=(start_s, min(end_s, tree.head_seconds)),
        y=(placed.depth + _GAP, placed.depth + 1 - _GAP),
        tone=tone,
        opacity=_FAINT if tone is Tone.MUTED else _FULL if is_large else _PALE,
        title=_title(frame, tone),
        label=f"{_SIGNS[tone]}{short_name(frame.name)}",
    )


def _title(frame: Frame, tone: Tone) -> str:
    base, head = map(number_format.seconds, (frame.base_seconds, frame.head_seconds))
    change = number_format.signed_seconds(frame.delta_seconds)
    name = clean(frame.name, limit=MAX_LONG_NAME)
    return f"{name}: {base} on base, {head} on head, {change}{_WORDS[tone]}"
