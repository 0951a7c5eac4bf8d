"""Combines the flame graph of two steps with a table of its frames."""

from collections.abc import Iterator
from dataclasses import dataclass

from perfledger.profile import Profile
from perfledger_profiles.flame_graph.frame_tree import Frame, frame_tree, frames_below
from perfledger_service.rendering.chart.marks import Tone
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.short_name import short_name
from perfledger_service.rendering.trace.flame_graph.chart import flame_chart
from perfledger_service.rendering.trace.flame_graph.frame_change import change_tone

MAX_ROWS = 20  # the frames that changed most, and those around them


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRow:
    """One frame as text; `depth` is the number of frames around it."""

    depth: int
    name: str  # untrusted
    short: str  # shortened to fit on a line
    base: str  # "" on a side without it
    head: str
    delta: str
    tone: Tone


@dataclass(frozen=True, slots=True, kw_only=True)
class FlameGraph:
    """A differential flame graph as SVG, and its frames as rows."""

    svg: str  # "" if head has no time
    rows: tuple[FrameRow, ...]
    hidden: int  # frames without a row
    gone: str  # the time of base's frames that head lacks, "" if none


def flame_graph(base: Profile, head: Profile) -> FlameGraph:
    """Return the flame graph of two steps of one workload."""
    tree = frame_tree(base, head)
    chart = flame_chart(tree)
    change = number_format.signed_seconds(tree.delta_seconds)
    label = f"Differential flame graph, {change} a step; the table below lists its frames"
    rows, hidden = frame_rows(tree)
    gone_s = sum(one.base_seconds for one in _removed_frames(tree))
    return FlameGraph(
        svg="" if chart is None else embedded_svg(chart, label=label),
        rows=rows,
        hidden=hidden,
        gone=number_format.seconds(gone_s) if gone_s > 0 else "",
    )


def frame_rows(tree: Frame) -> tuple[tuple[FrameRow, ...], int]:
    """Return the frames that changed most, those around them, and the number left out."""
    every = list(frames_below(tree))
    changed = sorted(every, key=lambda one: -abs(one[1].delta_seconds))[:MAX_ROWS]
    chosen = {id(frame) for _, frame in changed}
    listed = [(0, tree), *_with_chosen(tree, chosen, depth=1)]
    rows = tuple(_row(frame, depth, tree) for depth, frame in listed)
    return rows, len(every) + 1 - len(rows)


def _with_chosen(frame: Frame, chosen: set[int], *, depth: int) -> Iterator[tuple[int, Frame]]:
    """Yield the chosen frames in a frame, and those around them, each before the frames in it."""
    for one in frame.frames:
        inside = list(_with_chosen(one, chosen, depth=depth + 1))
        if inside or id(one) in chosen:
            yield depth, one
            yield from inside


def _removed_frames(frame: Frame) -> Iterator[Frame]:
    """Yield the outermost frames that head lacks."""
    for one in frame.frames:
        if one.head_seconds == 0 and one.base_seconds > 0:
            yield one
        else:
            yield from _removed_frames(one)


def _row(frame: Frame, depth: int, tree: Frame) -> FrameRow:
    return FrameRow(
        depth=depth,
        name=frame.name,
        short=short_name(frame.name),
        base=number_format.seconds(frame.base_seconds) if frame.base_seconds else "",
        head=number_format.seconds(frame.head_seconds) if frame.head_seconds else "",
        delta=number_format.signed_seconds(frame.delta_seconds),
        tone=change_tone(frame, tree),
    )
