"""Computes the metrics that follow from a trace's kept steps alone."""

import re
from collections.abc import Iterator

import numpy as np

from perfledger.profile import Bucket, ProfileReading
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.collective_sizes import message_readings
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    intersection_ns,
    union,
)
from perfledger_profiles.timeline.launch_links import launch_delays_ns, queues
from perfledger_profiles.timeline.trace import CallKind, Trace

_BUCKETS = tuple(Bucket)
_COMMUNICATION = _BUCKETS.index(Bucket.COMMUNICATION)
_COMPUTE = _BUCKETS.index(Bucket.COMPUTE)
_DIRECTIONS = {
    "h2d": re.compile(r"(?i)HtoD|Host-?to-?Device|Host -> Device|M2D"),
    "d2h": re.compile(r"(?i)DtoH|Device-?to-?Host|Device -> Host|D2M"),
}


def trace_readings(
    trace: Trace,
    work: BoolArray,
    bucket: IntArray,
    launched_by: IntArray,
    windows: TimeSegments,
) -> tuple[ProfileReading, ...]:
    """Return the readings of one device's kept steps; unknown metrics have no reading.

    `work` marks the device's work of the kept steps. `bucket` (a place in Bucket) and `launched_by`
    have shape (n,).
    """
    if not work.any():
        return ()
    return (
        *_busy(trace, windows),
        *_communication(trace, work, bucket, steps=windows.owner.size),
        *message_readings(trace, work & (bucket == _COMMUNICATION)),
        *_launching(trace, work, launched_by, windows),
        *_transfers(trace, work, steps=windows.owner.size),
    )


def _busy(trace: Trace, windows: TimeSegments) -> Iterator[ProfileReading]:
    """Yield the share of the steps in which the device is active.

    It says nothing about efficiency: a kernel with one thread makes it 100 %.
    """
    work = trace.is_device_work
    busy = union(trace.start_ns[work], trace.end_ns[work])
    share = intersection_ns(busy, windows) / windows.length_ns()
    yield ProfileReading(name="gpu_busy", value=share, source="union of device events / step")


def _communication(
    trace: Trace, work: BoolArray, bucket: IntArray, *, steps: int
) -> Iterator[ProfileReading]:
    talks, computes = work & (bucket == _COMMUNICATION), work & (bucket == _COMPUTE)
    talking = union(trace.start_ns[talks], trace.end_ns[talks])
    if talking.length_ns() == 0:
        return
    computing = union(trace.start_ns[computes], trace.end_ns[computes])
    yield ProfileReading(
        name="comm_time",
        value=talking.length_ns() / steps / NS_PER_S,
        unit="s",
        source="union of collectives per step",
    )
    if not computes.any():
        return  # nothing could overlap them
    yield ProfileReading(
        name="comm_overlap",
        value=intersection_ns(talking, computing) / talking.length_ns(),
        source="time of collectives beside compute / time of collectives",
    )


def _launching(
    trace: Trace, work: BoolArray, launched_by: IntArray, windows: TimeSegments
) -> Iterator[ProfileReading]:
    delays = launch_delays_ns(trace, launched_by, work & (trace.kind == CallKind.KERNEL))
    if delays.size:
        yield ProfileReading(
            name="launch_delay_p50",
            value=float(np.median(delays)) / NS_PER_S,
            unit="s",
            source="kernel start - launch end, median",
        )
    queue = queues(trace, launched_by)
    lengths = queue.length[windows.at(queue.time_ns) != NO_CALL]
    if lengths.size:
        source = "launched but not started, at each change of a stream's queue"
        yield ProfileReading(name="queue_len_p50", value=float(np.median(lengths)), source=source)
        yield ProfileReading(name="queue_len_max", value=float(lengths.max()), source=source)


def _transfers(trace: Trace, work: BoolArray, *, steps: int) -> Iterator[ProfileReading]:
    copies = work & (trace.kind == CallKind.COPY)
    for direction, pattern in _DIRECTIONS.items():
        mine = copies & trace.find_by_name(
            [pattern.search(name) is not None for name in trace.names]
        )
        copying_ns = union(trace.start_ns[mine], trace.end_ns[mine]).length_ns()
        if copying_ns == 0:
            continue
        yield ProfileReading(
            name=f"{direction}_time",
            value=copying_ns / steps / NS_PER_S,
            unit="s",
            source="union of copies per step",
        )
        moved_bytes = trace.bytes[mine]
        if (moved_bytes >= 0).all():
            yield ProfileReading(
                name=f"{direction}_bw",
                value=int(moved_bytes.sum()) / (copying_ns / NS_PER_S),
                unit="B/s",
                source="bytes of copies / their union",
            )
