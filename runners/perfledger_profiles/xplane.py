"""Turn an xplane.pb file, as jax.profiler writes it, into a Profile.

The only module here that needs jax, and only when it is called.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Protocol, cast

from perfledger.profile import Profile, Reading
from perfledger.records import Side
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.event_facts import event_facts, whole_part
from perfledger_profiles.planes import Stat, Stats, XEvent, XLine, XPlane
from perfledger_profiles.xla import DRIVERS, HOST, profile_of_planes
from perfledger_profiles.xla_device import (
    ASYNCHRONOUS,
    COPY_DETAILS,
    DEVICE,
    DEVICE_DURATION,
    KERNEL_DETAILS,
    MODULES,
    OPERATIONS,
    STEPS,
    STREAM,
)
from perfledger_profiles.xla_host import (
    CORRELATION,
    OPERATION,
    PYTHON_FRAME,
    STEP,
    is_of_use,
    thread_rank,
)
from perfledger_profiles.xla_kernels import BYTES, FLOPS, MODEL_FLOPS
from perfledger_profiles.xla_memory import EVENTS as MEMORY_EVENTS, STATS as MEMORY_STATS

# A few steps are a few MB; a protocol buffer cannot be larger than 2 GiB.
MAX_FILE_BYTES = 512 * 2**20

_OFFSET, _DURATION = "device_offset_ps", DEVICE_DURATION
_STATS = frozenset(
    {
        STEP,
        OPERATION,
        "hlo_module",
        "_p",
        "_c",
        "tf_op",
        _OFFSET,
        _DURATION,
        CORRELATION,
        KERNEL_DETAILS,
        COPY_DETAILS,
        *MEMORY_STATS,
    }
)
_FACTS = frozenset({FLOPS, MODEL_FLOPS, BYTES, "hlo_category", "tf_op"})
_DEVICE_LINES = frozenset({OPERATIONS, ASYNCHRONOUS, MODULES, STEPS})
CUT_OFF = "the file is cut off: what it had of other devices or of the host is missing"
_PS_PER_NS = 1000
_MAX_NS = 2**60


_NOTHING: dict[str, Stat] = {}  # shared by all events that have no stats of use
_Raw = tuple[str, float, float, Stats]  # name, start and duration in nanoseconds, stats


class _Event(Protocol):
    name: str
    start_ns: float
    duration_ns: float
    stats: Iterable[tuple[str, object]]


class _Line(Protocol):
    name: str
    events: Iterable[_Event]


class _Plane(Protocol):
    name: str
    lines: Iterable[_Line]
    stats: Iterable[tuple[str, object]]


class _Space(Protocol):
    planes: Iterable[_Plane]


@dataclass(frozen=True, slots=True, kw_only=True)
class XSpace:
    """What of a file is read, and how much of it there is."""

    planes: tuple[XPlane, ...]
    events: int  # of all lines of the file
    dropped_events: int  # without a usable time; where the file ends early, one for what is missing
    is_cut_off: bool


def read_xplane(path: Path, *, workload: str, side: Side) -> Profile:
    """Return the mean step of an XLA profile of the CPU, a GPU or a TPU.

    Of a file that was cut off these are the planes that are there as a whole. Raises ProfileError
    as `read_planes` does.
    """
    space = read_planes(path)
    profile = profile_of_planes(
        space.planes, workload=workload, side=side, dropped_events=space.dropped_events
    )
    counted = Reading(name="events", value=space.events, source="all lines of the file")
    notes = (*profile.notes, CUT_OFF) if space.is_cut_off else profile.notes
    return replace(profile, readings=(*profile.readings, counted), notes=notes)


def read_planes(path: Path) -> XSpace:
    """Return the planes of an XLA profile, those that are whole where it was cut off.

    Raises ProfileError when jax is not installed, or the file is missing, too large or not one.
    """
    try:
        profiler = import_module("jax.profiler")
    except ImportError as error:
        msg = "reading an XLA profile needs jax: pip install 'perfledger[jax]'"
        raise ProfileError(msg) from error
    found = _bytes(path)
    data = whole_part(found) or found
    try:
        space = cast("_Space", profiler.ProfileData.from_serialized_xspace(data))
        planes = [(number, plane) for number, plane in enumerate(space.planes)]
        chosen = [(number, plane) for number, plane in planes if _is_wanted(plane.name)]
        names = frozenset(plane.name for _, plane in chosen if DEVICE.fullmatch(plane.name))
        facts = event_facts(data, planes=names, wanted=_FACTS)
        read = [
            _plane(plane, facts[number] if number < len(facts) else {}) for number, plane in chosen
        ]
        events = sum(1 for _, plane in planes for line in plane.lines for _ in line.events)
    except (RuntimeError, UnicodeDecodeError) as error:
        msg = f"{path.name} is not an XLA profile (xplane.pb), or it is cut off"
        raise ProfileError(msg) from error
    is_cut_off = len(data) < len(found)
    kept = tuple(plane for plane, _ in read)
    if is_cut_off and not any(line.events for plane in kept for line in plane.lines):
        msg = f"{path.name} is cut off before the first event that would be read: profile it again"
        raise ProfileError(msg)
    return XSpace(
        planes=kept,
        events=events,
        dropped_events=sum(broken for _, broken in read) + is_cut_off,
        is_cut_off=is_cut_off,
    )


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            msg = f"{path.name} is larger than {MAX_FILE_BYTES} bytes: profile fewer steps"
            raise ProfileError(msg)
        return path.read_bytes()
    except OSError as error:
        msg = f"{path.name} cannot be read: {error.strerror}"
        raise ProfileError(msg) from error


def _is_wanted(plane_name: str) -> bool:
    return plane_name in (HOST, *DRIVERS) or DEVICE.fullmatch(plane_name) is not None


def _plane(plane: _Plane, facts: Mapping[str, Stats]) -> tuple[XPlane, int]:
    """Return the plane, and how many of its events have no usable time."""
    is_device = DEVICE.fullmatch(plane.name) is not None
    lines = _device_lines(plane) if is_device else _host_lines(plane)
    broken = 0
    kept: list[XLine] = []
    for name, events in lines:
        sound = tuple(e for e in events if 0 <= e.start_ns <= e.end_ns < _MAX_NS)
        broken += len(events) - len(sound)
        kept.append(XLine(name=name, events=sound))
    stats = {name: stat for name, stat in plane.stats if isinstance(stat, str | int | float)}
    return XPlane(name=plane.name, lines=tuple(kept), stats=stats, facts=facts), broken


def _device_lines(plane: _Plane) -> list[tuple[str, list[XEvent]]]:
    """Return a device's lines, on its own clock moved onto the host's where that was read."""
    lines = [
        (line.name, list(_raw(line)))
        for line in plane.lines
        if line.name in _DEVICE_LINES or line.name.startswith(STREAM)
    ]
    shift_ns = _shift_ns([raw for _, events in lines for raw in events])
    return [(name, [_event(raw, shift_ns=shift_ns) for raw in events]) for name, events in lines]


def _host_lines(plane: _Plane) -> list[tuple[str, list[XEvent]]]:
    """Return the host's threads: all of the one that takes the steps, of others what is needed.

    Of XLA's own threads most files have tens of thousands of events that say nothing of a step.
    """
    lines = [(line.name, list(_raw(line))) for line in plane.lines]
    ranks = [thread_rank((name, stats) for name, _, _, stats in events) for _, events in lines]
    main = max(range(len(lines)), key=ranks.__getitem__, default=None)
    return [
        (
            name,
            [_event(raw) for raw in events if number == main or _is_of_use(raw)],
        )
        for number, (name, events) in enumerate(lines)
    ]


def _is_of_use(raw: _Raw) -> bool:
    name, _, _, stats = raw
    return name in MEMORY_EVENTS or is_of_use(name, stats)


def _raw(line: _Line) -> Iterator[_Raw]:
    for event in line.events:
        name = event.name
        if name[:1] == PYTHON_FRAME:
            continue
        stats = _NOTHING
        for key, value in event.stats:
            if key in _STATS and isinstance(value, str | int | float):
                stats = stats or {}
                stats[key] = value
        yield name, event.start_ns, event.duration_ns, stats


def _event(raw: _Raw, *, shift_ns: int = 0) -> XEvent:
    """Return the event, by the device's own clock where there is one.

    The profiler's translation to the host's clock bends single events by up to their own length.
    Beginning and end are both rounded, so that what follows on each other does not overlap.
    """
    name, start, duration, stats = raw
    if _OFFSET in stats:
        offset_ps, duration_ps = stats[_OFFSET], stats.get(_DURATION)
        if isinstance(offset_ps, int) and isinstance(duration_ps, int):
            start_ns = _nanoseconds(offset_ps) + shift_ns
            end_ns = _nanoseconds(offset_ps + duration_ps) + shift_ns
            return XEvent(name=name, start_ns=start_ns, end_ns=end_ns, stats=stats)
    start_ns = round(start)
    return XEvent(name=name, start_ns=start_ns, end_ns=start_ns + round(duration), stats=stats)


def _shift_ns(events: Sequence[_Raw]) -> int:
    """Return how far the host's clock is ahead of the device's."""
    apart = [
        start - _nanoseconds(offset_ps)
        for _, start, _, stats in events
        if isinstance(offset_ps := stats.get(_OFFSET), int) and _DURATION in stats
    ]
    return round(median(apart)) if apart else 0


def _nanoseconds(picoseconds: int) -> int:
    return (picoseconds + _PS_PER_NS // 2) // _PS_PER_NS
