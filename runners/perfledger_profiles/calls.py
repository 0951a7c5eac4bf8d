"""Turn a timeline, or the planes of an XLA profile, into all of its calls, lane by lane."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_profiles.idle import stream_names
from perfledger_profiles.labels import check_lanes
from perfledger_profiles.planes import XPlane
from perfledger_profiles.spans import IntArray, listed
from perfledger_profiles.trace import Lane, Trace
from perfledger_profiles.xla_device import is_device

# Most of what XLA's threads record says nothing of a step, and Python's frames are most of a file.
XLA_UNREAD = "Python's frames, and what XLA's own threads do beside operations, are left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCalls:
    """The calls of one thread or stream, by the file's own clock; the columns have shape (n,).

    Names are as the file has them.
    """

    lane: str
    is_device: bool
    name: IntArray  # its place in `Calls.names`
    start_ns: IntArray
    end_ns: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """All calls that were recorded, of all steps; those of the host's threads come first."""

    names: tuple[str, ...]
    lanes: tuple[LaneCalls, ...]
    dropped_events: int = 0
    unread: str = ""  # what the reader passes over, in words

    @property
    def count(self) -> int:
        """Return how many calls there are on all lanes."""
        return sum(lane.name.size for lane in self.lanes)


def calls_of_trace(trace: Trace) -> Calls:
    """Return the calls of a timeline: annotations, operators and runtime calls, kernels, copies.

    What the profiler draws over kernels, and a stream's waits for events, are no calls. Raises
    ProfileError when there are more lanes than any job has.
    """
    check_lanes(trace)
    processes = {lane.process for lane in trace.lanes if not lane.is_device}
    chosen = np.flatnonzero(
        (trace.is_on_host | trace.is_device_work) & (trace.end_ns >= trace.start_ns)
    )
    chosen = chosen[np.argsort(trace.lane[chosen], kind="stable")]
    places, first = np.unique(trace.lane[chosen], return_index=True)
    streams = stream_names(trace, listed(chosen[first]))
    lanes = [
        LaneCalls(
            lane=_lane(trace.lanes[place], stream, is_alone=len(processes) == 1),
            is_device=trace.lanes[place].is_device,
            name=trace.name[mine],
            start_ns=trace.start_ns[mine],
            end_ns=trace.end_ns[mine],
        )
        for place, stream, mine in zip(
            listed(places), streams, np.split(chosen, first[1:]), strict=False
        )
    ]
    return Calls(names=trace.names, lanes=_host_first(lanes), dropped_events=trace.dropped_events)


def calls_of_planes(planes: Sequence[XPlane], *, dropped_events: int = 0) -> Calls:
    """Return the calls of an XLA profile: what its reader keeps of each line of each plane."""
    names: dict[str, int] = {}
    lanes = list(_plane_lanes(planes, names))
    return Calls(
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


def _lane(lane: Lane, stream: str, *, is_alone: bool) -> str:
    """Return a stream, or a thread by its number, after its process's where there are several."""
    if lane.is_device:
        return f"stream {stream}"
    return f"thread {lane.thread}" if is_alone else f"thread {lane.process}:{lane.thread}"


def _host_first(lanes: Sequence[LaneCalls]) -> tuple[LaneCalls, ...]:
    """Return the host's lanes and then the device's, of each those with the most calls first."""
    return tuple(sorted(lanes, key=lambda lane: (lane.is_device, -lane.name.size)))
