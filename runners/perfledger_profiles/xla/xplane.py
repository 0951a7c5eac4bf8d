"""Reads the xplane.pb files of jax.profiler.

It is the only module here that needs jax, which it imports only when called.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Protocol

from perfledger.profile import Profile, ProfileReading
from perfledger.records import Side
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.units import PS_PER_NS
from perfledger_profiles.xla.device_plane import (
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
from perfledger_profiles.xla.host_events import (
    CORRELATION,
    OPERATION,
    STEP,
    is_of_use,
    is_python_at_work,
    thread_rank,
)
from perfledger_profiles.xla.kernels import BYTES, FLOPS, MODEL_FLOPS
from perfledger_profiles.xla.memory import EVENTS as MEMORY_EVENTS, STATS as MEMORY_STATS
from perfledger_profiles.xla.planes import Stat, Stats, XEvent, XLine, XPlane
from perfledger_profiles.xla.planes_to_profile import DRIVERS, HOST, profile_of_planes
from perfledger_profiles.xla.protocol_buffer import intact_prefix
from perfledger_profiles.xla.xplane_wire import event_stats

# A few steps are a few MB; a protocol buffer is at most 2 GiB.
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
# jaxlib creates these two types when the first stats are read. From Python 3.12 on, that gives a
# warning, and if warnings are errors (python -W error) it aborts the process inside jaxlib.
_JAXLIB_WARNING = r"builtin type (plane|event)_stats has no __module__ attribute"
CUT_OFF = "the file is cut off: other devices or the host may be missing"
_MAX_NS = 2**60


_NO_STATS: dict[str, Stat] = {}  # shared by all events without useful stats
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
    """The planes of a file, and its numbers of events."""

    planes: tuple[XPlane, ...]
    events: int  # on all lines of the file
    dropped_events: int  # without a usable time, plus one if the file ends early
    is_cut_off: bool


def read_xplane(
    path: Path, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
) -> Profile:
    """Return the mean step of an XLA profile of the CPU, a GPU or a TPU.

    If the file is cut off, its complete planes are read. Raises ProfileError as `read_planes` does.
    """
    space = read_planes(path)
    profile = profile_of_planes(
        space.planes,
        workload=workload,
        side=side,
        dropped_events=space.dropped_events,
        choice=choice,
    )
    counted = ProfileReading(name="events", value=space.events, source="all lines of the file")
    notes = (*profile.notes, CUT_OFF) if space.is_cut_off else profile.notes
    return replace(profile, readings=(*profile.readings, counted), notes=notes)


def read_planes(path: Path) -> XSpace:
    """Return the planes of an XLA profile, only the complete ones if it is cut off.

    Raises ProfileError if jax is not installed, or if the file is missing, too large or not an XLA
    profile.
    """
    try:
        profiler = import_module("jax.profiler")
    except ImportError as error:
        msg = "reading an XLA profile needs jax: pip install 'perfledger[jax]'"
        raise ProfileError(msg) from error
    file_bytes = _bytes(path)
    data = intact_prefix(file_bytes) or file_bytes
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _JAXLIB_WARNING, DeprecationWarning)
            read, events = _read_space(profiler.ProfileData.from_serialized_xspace(data), data)
    except (RuntimeError, UnicodeDecodeError) as error:
        msg = f"{path.name} is not an XLA profile (xplane.pb), or it is cut off: profile again"
        raise ProfileError(msg) from error
    is_cut_off = len(data) < len(file_bytes)
    kept_planes = tuple(plane for plane, _ in read)
    if is_cut_off and not any(line.events for plane in kept_planes for line in plane.lines):
        msg = f"{path.name} is cut off before its first usable event: profile again"
        raise ProfileError(msg)
    return XSpace(
        planes=kept_planes,
        events=events,
        dropped_events=sum(broken for _, broken in read) + is_cut_off,
        is_cut_off=is_cut_off,
    )


def _read_space(space: _Space, data: bytes) -> tuple[list[tuple[XPlane, int]], int]:
    """Return each useful plane with its broken events, and the number of events of all planes."""
    planes = [(number, plane) for number, plane in enumerate(space.planes)]
    chosen = [(number, plane) for number, plane in planes if _is_read(plane.name)]
    names = frozenset(plane.name for _, plane in chosen if DEVICE.fullmatch(plane.name))
    facts = event_stats(data, planes=names, stat_names=_FACTS)
    read = [_plane(plane, facts[number] if number < len(facts) else {}) for number, plane in chosen]
    return read, sum(1 for _, plane in planes for line in plane.lines for _ in line.events)


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            msg = f"{path.name} is larger than {MAX_FILE_BYTES} bytes: profile fewer steps"
            raise ProfileError(msg)
        return path.read_bytes()
    except OSError as error:
        msg = f"{path.name} cannot be read: {error.strerror}"
        raise ProfileError(msg) from error


def _is_read(plane_name: str) -> bool:
    return plane_name in (HOST, *DRIVERS) or DEVICE.fullmatch(plane_name) is not None


def _plane(plane: _Plane, facts: Mapping[str, Stats]) -> tuple[XPlane, int]:
    """Return the plane, and the number of its events without a usable time."""
    is_device = DEVICE.fullmatch(plane.name) is not None
    lines = _device_lines(plane) if is_device else _host_lines(plane)
    broken = 0
    kept_lines: list[XLine] = []
    for name, events in lines:
        sound = tuple(e for e in events if 0 <= e.start_ns <= e.end_ns < _MAX_NS)
        broken += len(events) - len(sound)
        kept_lines.append(XLine(name=name, events=sound))
    stats = {name: stat for name, stat in plane.stats if isinstance(stat, str | int | float)}
    return XPlane(name=plane.name, lines=tuple(kept_lines), stats=stats, facts=facts), broken


def _device_lines(plane: _Plane) -> list[tuple[str, list[XEvent]]]:
    """Return a device's lines, on the device's clock, shifted to the host's if it is recorded."""
    lines = [
        (line.name, list(_raw(line)))
        for line in plane.lines
        if line.name in _DEVICE_LINES or line.name.startswith(STREAM)
    ]
    shift_ns = _shift_ns([raw for _, events in lines for raw in events])
    return [(name, [_event(raw, shift_ns=shift_ns) for raw in events]) for name, events in lines]


def _host_lines(plane: _Plane) -> list[tuple[str, list[XEvent]]]:
    """Return the host's threads: all events of the one that runs the steps, useful ones of others.

    XLA's own threads have tens of thousands of events that belong to no step.
    """
    lines = [(line.name, list(_raw(line))) for line in plane.lines]
    ranks = [thread_rank((name, stats) for name, _, _, stats in events) for _, events in lines]
    main = max(range(len(lines)), key=ranks.__getitem__, default=None)
    return [
        (name, [_event(raw) for raw in events if number == main or _is_of_use(raw)])
        for number, (name, events) in enumerate(lines)
    ]


def _is_of_use(raw: _Raw) -> bool:
    name, _, _, stats = raw
    return name in MEMORY_EVENTS or is_of_use(name, stats)


def _raw(line: _Line) -> Iterator[_Raw]:
    for event in line.events:
        name = event.name
        if is_python_at_work(name):
            continue
        stats = _NO_STATS
        for key, value in event.stats:
            if key in _STATS and isinstance(value, str | int | float):
                stats = stats or {}
                stats[key] = value
        yield name, event.start_ns, event.duration_ns, stats


def _event(raw: _Raw, *, shift_ns: int = 0) -> XEvent:
    """Return the event, by the device's clock if it is recorded.

    The profiler's conversion to the host's clock distorts single events by up to their own length.
    Begin and end are both rounded, so consecutive events do not overlap.
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
    """Return the median difference between the host's clock and the device's."""
    apart = [
        start - _nanoseconds(offset_ps)
        for _, start, _, stats in events
        if isinstance(offset_ps := stats.get(_OFFSET), int) and _DURATION in stats
    ]
    return round(median(apart)) if apart else 0


def _nanoseconds(picoseconds: int) -> int:
    return (picoseconds + PS_PER_NS // 2) // PS_PER_NS
