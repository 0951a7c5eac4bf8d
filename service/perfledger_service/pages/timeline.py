"""Turns the slices of a step into its timeline: a lane for each stream or thread, calls inside.

A step may have thousands of calls that are narrower than a pixel: neighbours are drawn as one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from perfledger.profile import Bucket, Profile
from perfledger_service.pages import figures, words
from perfledger_service.pages.escape import clean
from perfledger_service.pages.lanes import Call, Lane, lanes_of
from perfledger_service.pages.scale import Scale, Tick, nice_ticks
from perfledger_service.pages.short_name import short_name

# Whatever the file holds: what is drawn can be looked at, and a page stays small.
_MAX_CALLS = 20_000
_MAX_LANES = 12
_MAX_DEPTH = 8
_MAX_SHAPES = 1200

# As the template draws it.
_LEFT, _RIGHT = 130.0, 944.0
_TOP = 56.0
_ROW = 15.0
_GAP = 9.0  # between two lanes
_BELOW = 30.0
_NARROWEST = 0.75
_CHARACTER = 6.2  # width of one, at the labels' size
_SHORTEST_LABEL = 4  # characters; less of a name says nothing

_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One call, or several too narrow to tell apart; `label` is "" where there is no room."""

    x: float
    y: float
    width: float
    bucket: Bucket
    label: str  # foreign
    title: str  # foreign


@dataclass(frozen=True, slots=True)
class LaneLabel:
    """The name of a lane, and where it begins and ends."""

    name: str  # foreign
    top: float
    bottom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePlot:
    """A step as shapes; `whole` says of what the time begins, `note` what is not drawn."""

    height: float
    lanes: tuple[LaneLabel, ...]
    shapes: tuple[Shape, ...]
    ticks: tuple[Tick, ...]
    unit: str
    whole: str  # step or recording
    note: str


def longest_seconds(*profiles: Profile) -> float:
    """Return when the last slice of these profiles ends, 0 without slices."""
    ends = [
        call.end_ns
        for profile in profiles
        for lane in lanes_of(profile.slices, most=_MAX_CALLS)
        for call in lane.calls
    ]
    return max(ends, default=0) / _NS


def timeline_plot(profile: Profile, *, span_seconds: float) -> TimelinePlot | None:
    """Return the picture of the profile's step on an axis of `span_seconds`, None without slices.

    Two steps that are to be compared have the same span.
    """
    lanes = lanes_of(profile.slices, most=_MAX_CALLS)
    if not lanes or span_seconds <= 0:
        return None
    factor, unit = figures.axis(span_seconds, "s")
    scale = Scale(0.0, span_seconds * _NS, _LEFT, _RIGHT)
    labels = tuple(_labels(lanes[:_MAX_LANES]))
    return TimelinePlot(
        height=labels[-1].bottom + _BELOW,
        lanes=labels,
        shapes=_shapes(lanes, labels, scale),
        ticks=tuple(
            Tick(scale.at(at / factor * _NS), f"{at:.5g}")
            for at in nice_ticks(0.0, span_seconds * factor)
        ),
        unit=unit,
        whole="step" if profile.has_steps else "recording",
        note=_note(profile, lanes),
    )


def _labels(lanes: Sequence[Lane]) -> Iterator[LaneLabel]:
    top = _TOP
    for lane in lanes:
        rows = min(max(call.depth for call in lane.calls) + 1, _MAX_DEPTH)
        yield LaneLabel(lane.name, top, top + _ROW * rows)
        top += _ROW * rows + _GAP


def _shapes(lanes: Sequence[Lane], labels: Sequence[LaneLabel], scale: Scale) -> tuple[Shape, ...]:
    """Return the calls' shapes; where there are too many, wider ones are drawn as one too."""
    narrow = _NARROWEST
    while True:
        found = [
            _shape(calls, label, scale)
            for lane, label in zip(lanes, labels, strict=False)
            for calls in _drawn_as_one(lane.calls, scale, narrow)
        ]
        if len(found) <= _MAX_SHAPES:
            return tuple(found)
        narrow *= 2


def _drawn_as_one(calls: Sequence[Call], scale: Scale, narrow: float) -> Iterator[tuple[Call, ...]]:
    """Yield the calls of each depth, neighbours together that are narrower than `narrow`."""
    visible = sorted(
        (call for call in calls if call.depth < _MAX_DEPTH),
        key=lambda call: (call.depth, call.start_ns),
    )
    for _, row in groupby(visible, key=lambda call: call.depth):
        group: list[Call] = []
        for call in row:
            is_narrow = scale.at(call.end_ns) - scale.at(call.start_ns) < narrow
            is_near = bool(group) and scale.at(call.start_ns) - scale.at(group[-1].end_ns) < narrow
            if group and not (is_narrow and is_near):
                yield tuple(group)
                group = []
            group.append(call)
            if not is_narrow:
                yield tuple(group)
                group = []
        if group:
            yield tuple(group)


def _shape(calls: Sequence[Call], lane: LaneLabel, scale: Scale) -> Shape:
    first, last = calls[0], calls[-1]
    x = scale.at(first.start_ns)
    width = max(round(scale.at(last.end_ns) - x, 2), _NARROWEST)
    longest = max(calls, key=lambda call: call.end_ns - call.start_ns)
    return Shape(
        x=x,
        y=lane.top + _ROW * first.depth,
        width=width,
        bucket=longest.bucket,
        label=_label(first.name, width) if len(calls) == 1 else "",
        title=_title(calls, longest),
    )


def _label(name: str, width: float) -> str:
    room = int((width - 6) / _CHARACTER)
    return clean(short_name(name), limit=room) if room >= _SHORTEST_LABEL else ""


def _title(calls: Sequence[Call], longest: Call) -> str:
    busy = figures.seconds(sum(call.end_ns - call.start_ns for call in calls) / _NS)
    name = clean(longest.name, limit=120)
    if len(calls) == 1:
        return f"{name}: {busy}, {words.bucket(longest.bucket)}"
    return f"{len(calls)} calls, {busy}; the longest is {name}"


def _note(profile: Profile, lanes: Sequence[Lane]) -> str:
    parts: list[str] = []
    if len(profile.slices) > _MAX_CALLS:
        parts.append(f"the {len(profile.slices) - _MAX_CALLS} shortest calls")
    if len(lanes) > _MAX_LANES:
        parts.append(f"{len(lanes) - _MAX_LANES} more lanes")
    if any(call.depth >= _MAX_DEPTH for lane in lanes for call in lane.calls):
        parts.append(f"calls deeper than {_MAX_DEPTH}")
    return f"Not drawn: {', '.join(parts)}." if parts else ""
