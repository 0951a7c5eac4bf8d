"""Builds a Trace from a list of calls."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from perfledger.profile import ProfiledDevice
from perfledger_profiles.timeline.intervals import IntArray
from perfledger_profiles.timeline.trace import (
    LAST_ON_DEVICE,
    MAX_COUNT,
    UNKNOWN,
    CallKind,
    LaunchConfiguration,
    Trace,
    TraceLane,
)

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineCall:
    """One call on a device or on the host; times are nanoseconds on any clock.

    `process` and `thread` are as in TraceLane: a device and its stream, or a process and its
    thread. `correlation` is positive if it links a host call with its work. `owner` is the process
    to which a device's work belongs, if recorded.
    """

    name: str
    kind: CallKind
    start_ns: int
    end_ns: int
    process: int | str = 0
    thread: int | str = 0
    correlation: int = UNKNOWN
    launch: LaunchConfiguration | None = None
    bytes: int = UNKNOWN
    owner: int | str | None = None

    @property
    def is_sound(self) -> bool:
        """Return whether the times are possible times of a clock."""
        return 0 <= self.start_ns <= self.end_ns <= MAX_COUNT

    @property
    def lane(self) -> TraceLane:
        """Return where the call ran."""
        is_device = self.kind <= LAST_ON_DEVICE
        return TraceLane(
            process=self.process,
            thread=self.thread,
            is_device=is_device,
            owner=self.owner if is_device else None,
        )


def trace_of_calls(
    calls: Sequence[TimelineCall],
    *,
    tool: str,
    devices: Sequence[ProfiledDevice] = (),
    dropped: int = 0,
    notes: Sequence[str] = (),
) -> Trace:
    """Return the trace of all calls with possible times; the others are counted as dropped."""
    sound = [call for call in calls if call.is_sound]
    begin_ns = min((call.start_ns for call in sound), default=0)
    names, name = _number_distinct([call.name for call in sound])
    lanes, lane = _number_distinct([call.lane for call in sound])
    launches, launched = _number_distinct(
        [call.launch for call in sound if call.launch is not None]
    )
    launch = np.full(len(sound), UNKNOWN, dtype=np.int64)
    launch[np.array([call.launch is not None for call in sound], dtype=np.bool_)] = launched
    return Trace(
        tool=tool,
        names=names,
        lanes=lanes,
        launches=launches,
        inputs=((b"", b""),),
        name=name,
        kind=_column([call.kind for call in sound]),
        lane=lane,
        start_ns=_column([call.start_ns - begin_ns for call in sound]),
        end_ns=_column([call.end_ns - begin_ns for call in sound]),
        correlation=_column([call.correlation for call in sound]),
        stream=_column([_stream(call.lane) for call in sound]),
        launch=launch,
        input=np.zeros(len(sound), dtype=np.int64),
        bytes=_column([call.bytes for call in sound]),
        epoch_ns=begin_ns,
        devices=tuple(devices),
        dropped_events=dropped + len(calls) - len(sound),
        notes=tuple(notes),
    )


def _number_distinct(keys: Sequence[Key]) -> tuple[tuple[Key, ...], IntArray]:
    """Return the distinct keys, and each key's place among them."""
    places: dict[Key, int] = {}
    column = _column([places.setdefault(key, len(places)) for key in keys])
    return tuple(places), column


def _column(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _stream(lane: TraceLane) -> int:
    is_number = lane.is_device and isinstance(lane.thread, int) and 0 <= lane.thread < MAX_COUNT
    return int(lane.thread) if is_number else UNKNOWN
