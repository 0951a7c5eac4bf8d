"""Collects all calls of a recording, lane by lane."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_profiles.timeline.call_labels import check_lanes
from perfledger_profiles.timeline.idle_reasons import stream_names
from perfledger_profiles.timeline.intervals import IntArray, to_list
from perfledger_profiles.timeline.trace import Trace, TraceLane
from perfledger_profiles.xla.device_plane import is_device
from perfledger_profiles.xla.planes import XPlane

# Most events of XLA's threads belong to no step, and Python frames make up most of a file.
XLA_UNREAD = "Python frames and XLA's internal events are left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCalls:
    """The calls of one thread or stream, on the file's clock; the columns have shape (n,).

    Names are as in the file.
    """

    lane: str
    is_device: bool
    name: IntArray  # its place in `RecordedCalls.names`
    start_ns: IntArray
    end_ns: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCalls:
    """All recorded calls of all steps; the host's threads come first."""

    names: tuple[str, ...]
    lanes: tuple[LaneCalls, ...]
    dropped_events: int = 0
    unread: str = ""  # a note on what the reader leaves out

    @property
    def count(self) -> int:
        """Return the number of calls on all lanes."""
        return sum(lane.name.size for lane in self.lanes)


def calls_of_trace(trace: Trace) -> RecordedCalls:
    """Return the calls of a timeline: annotations, operators and runtime calls, kernels, copies.

    Annotations repeated over kernels and a stream's waits for events are not calls. Raises
    ProfileError for too many lanes.
    """
    check_lanes(trace)
    processes = {lane.process for lane in trace.lanes if not lane.is_device}
    chosen = np.flatnonzero(
        (trace.is_on_host | trace.is_device_work) & (trace.end_ns >= trace.start_ns)
    )
    chosen = chosen[np.argsort(trace.lane[chosen], kind="stable")]
    places, first = np.unique(trace.lane[chosen], return_index=True)
    streams = stream_names(trace, to_list(chosen[first]))
    lanes = [
        LaneCalls(
            lane=_lane(trace.lanes[place], stream, is_alone=len(processes) == 1),
            is_device=trace.lanes[place].is_device,
            name=trace.name[mine],
            start_ns=trace.start_ns[mine],
            end_ns=trace.end_ns[mine],
        )
        for place, stream, mine in zip(
            to_list(places), streams, np.split(chosen, first[1:]), strict=False
        )
    ]
    return RecordedCalls(
        names=trace.names, lanes=_host_first(lanes), dropped_events=trace.dropped_events
    )


def calls_of_planes(planes: Sequence[XPlane], *, dropped_events: int = 0) -> RecordedCalls:
    """Return the calls of an XLA profile that its reader keeps."""
    names: dict[str, int] = {}
    lanes = list(_plane_lanes(planes, names))
    return RecordedCalls(
        names=tuple(names),
        lanes=_host_first(lanes),
        dropped_events=dropped_events,
        unread=XLA_UNREAD,
    )


def _plane_lanes(planes: Sequence[XPlane], names: dict[str, int]) -> Iterator[LaneCalls]:
    for plane in planes:
        for line in plane.lines:
            if line.events:
                places = [names.setdefault(event.name, len(names)) for event in line.events]
                yield LaneCalls(
                    lane=f"{plane.name.removeprefix('/device:')} {line.name}",
                    is_device=is_device(plane),
                    name=np.array(places, dtype=np.int64),
                    start_ns=np.array([e.start_ns for e in line.events], dtype=np.int64),
                    end_ns=np.array([e.end_ns for e in line.events], dtype=np.int64),
                )


def _lane(lane: TraceLane, stream: str, *, is_alone: bool) -> str:
    """Return a lane's title: the stream, or the thread's number, after its process if several."""
    if lane.is_device:
        return f"stream {stream}"
    return f"thread {lane.thread}" if is_alone else f"thread {lane.process}:{lane.thread}"


def _host_first(lanes: Sequence[LaneCalls]) -> tuple[LaneCalls, ...]:
    """Return the host's lanes, then the device's, each group sorted by number of calls."""
    return tuple(sorted(lanes, key=lambda lane: (lane.is_device, -lane.name.size)))
