"""Draws the slices of a step as a timeline: one lane per stream or thread, with nested calls.

A step may have thousands of calls narrower than a pixel: neighbours are merged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from perfledger.profile import Bucket, Profile
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_service.rendering.chart.axis import Axis, Tick, linear_axis
from perfledger_service.rendering.chart.marks import BarMark, Mark, Tone
from perfledger_service.rendering.chart.picture import WIDTH, Chart, LegendKey
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.rendering.layout.short_name import short_name
from perfledger_service.rendering.trace.bucket_tones import BUCKET_TONES
from perfledger_service.rendering.trace.timeline.lanes import LaneCall, StepLane, lanes_of

_MAX_OPERATION = 120
# These keep the picture readable and the page small, whatever the file contains.
_MAX_CALLS = 20_000
_MAX_LANES = 12
_MAX_DEPTH = 8
MAX_SHAPES = 1200

PLOT_LEFT, PLOT_RIGHT = 100.0, 16.0
_ROW_HEIGHT = 16.0
_LANE_GAP = 0.6  # rows between two lanes
_NARROWEST = 0.75 / (
    WIDTH - PLOT_LEFT - PLOT_RIGHT
)  # share of the axis: a narrower bar is invisible


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWindow:
    """A part of a step, in seconds since its start; an empty one raises ValueError."""

    start_seconds: float = 0.0
    end_seconds: float

    def __post_init__(self) -> None:
        """Raise ValueError unless the end is after the start."""
        if not (isfinite(self.end_seconds) and 0 <= self.start_seconds < self.end_seconds):
            msg = f"no part of a step: {self.start_seconds} s to {self.end_seconds} s"
            raise ValueError(msg)

    @property
    def seconds(self) -> float:
        """Return its length."""
        return self.end_seconds - self.start_seconds

    def shows(self, call: LaneCall) -> bool:
        """Return whether any part of a call is within the window."""
        starts_before = call.start_ns < self.end_seconds * NS_PER_S
        return starts_before and call.end_ns > self.start_seconds * NS_PER_S


@dataclass(frozen=True, slots=True)
class _LaneRows:
    """A lane's name, and its first and last rows."""

    name: str  # untrusted
    top: float
    bottom: float


def longest_seconds(*profiles: Profile) -> float:
    """Return the end of the last slice of these profiles, 0 without slices."""
    ends = [
        call.end_ns
        for profile in profiles
        for lane in lanes_of(profile.slices, most=_MAX_CALLS)
        for call in lane.calls
    ]
    return max(ends, default=0) / NS_PER_S


def timeline_chart(
    profile: Profile,
    *,
    span_seconds: float,
    window: StepWindow | None = None,
    most: int = MAX_SHAPES,
) -> Chart | None:
    """Return the chart of the profile's step on an axis of `span_seconds`, None without slices.

    Compared steps have the same span. A row is one nesting level. `window` is the part of the step
    to show: there, calls too narrow for the whole step have their own bars. With more than `most`
    bars, neighbours are merged.
    """
    lanes = lanes_of(profile.slices, most=_MAX_CALLS)
    if not lanes or span_seconds <= 0:
        return None
    part = window or StepWindow(end_seconds=span_seconds)
    factor, unit = number_format.axis(part.end_seconds, "s")
    rows = tuple(_lane_rows(lanes[:_MAX_LANES]))
    begun = f"{unit} since the {'step' if profile.has_steps else 'recording'} began"
    note = _note(profile, lanes)
    names = tuple(
        Tick(value=row.top + 0.5, label=row.name, title=clean(row.name, limit=MAX_LONG_NAME))
        for row in rows
    )
    return Chart(
        x=linear_axis(part.start_seconds, part.end_seconds, factor=factor),
        y=Axis(low=rows[-1].bottom, high=0.0, ticks=names, has_grid=False),
        marks=(
            *(BarMark(y=(row.top - 0.1, row.bottom + 0.1), tone=Tone.TRACK) for row in rows),
            *_call_marks(lanes, rows, part, most),
        ),
        caption=f"{begun}. {note}" if note else begun,
        legend=_legend(profile),
        height=_ROW_HEIGHT * rows[-1].bottom,
        left=PLOT_LEFT,
        right=PLOT_RIGHT,
    )


def _legend(profile: Profile) -> tuple[LegendKey, ...]:
    used = {one.bucket for one in profile.slices}
    return tuple(
        LegendKey(label=vocabulary.bucket(bucket), tone=BUCKET_TONES[bucket])
        for bucket in Bucket
        if bucket in used
    )


def _lane_rows(lanes: Sequence[StepLane]) -> Iterator[_LaneRows]:
    top = 0.0
    for lane in lanes:
        bottom = top + min(max(call.depth for call in lane.calls) + 1, _MAX_DEPTH)
        yield _LaneRows(lane.name, top, bottom)
        top = bottom + _LANE_GAP


def _call_marks(
    lanes: Sequence[StepLane], rows: Sequence[_LaneRows], window: StepWindow, most: int
) -> tuple[Mark, ...]:
    """Return the bars of the calls; with more than `most`, merge wider ones as well."""
    narrow_ns = _NARROWEST * window.seconds * NS_PER_S
    gap_s = _NARROWEST * window.seconds  # so that neighbours do not touch
    while True:
        marks = [
            _call_mark(calls, row, gap_s, window)
            for lane, row in zip(lanes, rows, strict=False)
            for calls in _drawn_as_one(lane.calls, narrow_ns, window)
        ]
        if len(marks) <= most:
            return tuple(marks)
        narrow_ns *= 2


def _drawn_as_one(
    calls: Sequence[LaneCall], narrow_ns: float, window: StepWindow
) -> Iterator[tuple[LaneCall, ...]]:
    """Yield the calls of each depth, with neighbours narrower than `narrow_ns` merged."""
    visible = sorted(
        (call for call in calls if call.depth < _MAX_DEPTH and window.shows(call)),
        key=lambda call: (call.depth, call.start_ns),
    )
    for _, row in groupby(visible, key=lambda call: call.depth):
        group: list[LaneCall] = []
        for call in row:
            is_narrow = call.end_ns - call.start_ns < narrow_ns
            is_near = bool(group) and call.start_ns - group[-1].end_ns < narrow_ns
            if group and not (is_narrow and is_near):
                yield tuple(group)
                group = []
            group.append(call)
            if not is_narrow:
                yield tuple(group)
                group = []
        if group:
            yield tuple(group)


def _call_mark(
    calls: Sequence[LaneCall], row: _LaneRows, gap_s: float, window: StepWindow
) -> BarMark:
    first, last = calls[0], calls[-1]
    longest = max(calls, key=lambda call: call.end_ns - call.start_ns)
    start = max(first.start_ns / NS_PER_S, window.start_seconds)
    end = min(last.end_ns / NS_PER_S, window.end_seconds)
    return BarMark(
        x=(start, max(end - gap_s, start)),
        y=(row.top + first.depth + 0.03, row.top + first.depth + 0.97),
        tone=BUCKET_TONES[longest.bucket],
        title=_title(calls, longest),
        label=short_name(first.name) if len(calls) == 1 else "",
    )


def _title(calls: Sequence[LaneCall], longest: LaneCall) -> str:
    busy = number_format.seconds(sum(call.end_ns - call.start_ns for call in calls) / NS_PER_S)
    name = clean(longest.name, limit=_MAX_OPERATION)
    if len(calls) == 1:
        return f"{name}: {busy}, {vocabulary.bucket(longest.bucket)}"
    return f"{len(calls)} calls, {busy}; the longest is {name}"


def _note(profile: Profile, lanes: Sequence[StepLane]) -> str:
    parts: list[str] = []
    if len(profile.slices) > _MAX_CALLS:
        parts.append(f"the {len(profile.slices) - _MAX_CALLS} shortest calls")
    if len(lanes) > _MAX_LANES:
        parts.append(f"{len(lanes) - _MAX_LANES} more lanes")
    if any(call.depth >= _MAX_DEPTH for lane in lanes for call in lane.calls):
        parts.append(f"calls deeper than {_MAX_DEPTH}")
    return f"Not drawn: {', '.join(parts)}." if parts else ""
