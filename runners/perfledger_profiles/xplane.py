"""Turn an xplane.pb file, as jax.profiler writes it, into a Profile.

The only module here that needs jax, and only when it is called.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Protocol, cast

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.planes import Stat, XEvent, XLine, XPlane
from perfledger_profiles.xla import profile_of_planes

# A few steps are a few MB; a protocol buffer cannot be larger than 2 GiB.
MAX_FILE_BYTES = 512 * 2**20

_OFFSET, _DURATION = "device_offset_ps", "device_duration_ps"
_STATS = ("step_num", "hlo_op", "hlo_module", "_p", "_c", _OFFSET, _DURATION)
_PS_PER_NS = 1000
_MAX_NS = 2**60


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


class _Space(Protocol):
    planes: Iterable[_Plane]


def read_xplane(path: Path, *, workload: str, side: Side) -> Profile:
    """Return the mean step of an XLA profile of the CPU, a GPU or a TPU.

    Raises ProfileError when jax is not installed, or the file is missing, too large or not one.
    """
    try:
        profiler = import_module("jax.profiler")
    except ImportError as error:
        msg = "reading an XLA profile needs jax: pip install 'perfledger[jax]'"
        raise ProfileError(msg) from error
    data = _bytes(path)
    try:
        space = cast("_Space", profiler.ProfileData.from_serialized_xspace(data))
        read = [_plane(plane) for plane in space.planes]
    except (RuntimeError, UnicodeDecodeError) as error:
        msg = f"{path.name} is not an XLA profile (xplane.pb), or it is cut off"
        raise ProfileError(msg) from error
    return profile_of_planes(
        [plane for plane, _ in read],
        workload=workload,
        side=side,
        dropped_events=sum(broken for _, broken in read),
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


def _plane(plane: _Plane) -> tuple[XPlane, int]:
    """Return the plane, and how many of its events have no usable time."""
    lines = [(line.name, [_event(event) for event in line.events]) for line in plane.lines]
    shift_ns = _shift_ns([event for _, events in lines for event in events])
    broken = 0
    kept: list[XLine] = []
    for name, events in lines:
        timed = [_on_device_clock(event, shift_ns) for event in events]
        sound = tuple(e for e in timed if 0 <= e.start_ns <= e.end_ns < _MAX_NS)
        broken += len(timed) - len(sound)
        kept.append(XLine(name=name, events=sound))
    return XPlane(name=plane.name, lines=tuple(kept)), broken


def _event(event: _Event) -> XEvent:
    stats: dict[str, Stat] = {
        name: value
        for name, value in event.stats
        if name in _STATS and isinstance(value, str | int | float)
    }
    start_ns = round(event.start_ns)
    end_ns = start_ns + round(event.duration_ns)
    return XEvent(name=event.name, start_ns=start_ns, end_ns=end_ns, stats=stats)


def _shift_ns(events: Sequence[XEvent]) -> int:
    """Return how far the host's clock is ahead of the device's."""
    clocks = [(event.start_ns, _device_times_ns(event)) for event in events]
    return round(median([start - times[0] for start, times in clocks if times] or [0]))


def _on_device_clock(event: XEvent, shift_ns: int) -> XEvent:
    """Return the event on the device's own clock, where it was read, moved onto the host's.

    The profiler's translation to the host's clock bends single events by up to their own length.
    """
    times = _device_times_ns(event)
    if times is None:
        return event
    start_ns = times[0] + shift_ns
    return XEvent(name=event.name, start_ns=start_ns, end_ns=start_ns + times[1], stats=event.stats)


def _device_times_ns(event: XEvent) -> tuple[int, int] | None:
    """Return the event's start and duration on the device's clock."""
    offset_ps, duration_ps = event.stats.get(_OFFSET), event.stats.get(_DURATION)
    if isinstance(offset_ps, int) and isinstance(duration_ps, int):
        return round(offset_ps / _PS_PER_NS), round(duration_ps / _PS_PER_NS)
    return None
