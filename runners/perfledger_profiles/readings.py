"""Turn a trace's kept steps into the figures of the profiling schema that follow from it alone."""

import re
from collections.abc import Iterator

import numpy as np

from perfledger.profile import Bucket, Reading
from perfledger_profiles.launches import launch_delays_ns, queues
from perfledger_profiles.message_sizes import message_readings
from perfledger_profiles.spans import (
    NOBODY,
    BoolArray,
    IntArray,
    Segments,
    common_ns,
    union,
)
from perfledger_profiles.trace import Kind, Trace

_NS = 1e9
_BUCKETS = tuple(Bucket)
_COMMUNICATION = _BUCKETS.index(Bucket.COMMUNICATION)
_COMPUTE = _BUCKETS.index(Bucket.COMPUTE)
_DIRECTIONS = {
    "h2d": re.compile(r"(?i)HtoD|Host-?to-?Device|Host -> Device|M2D"),
    "d2h": re.compile(r"(?i)DtoH|Device-?to-?Host|Device -> Host|D2M"),
}


def trace_readings(
    trace: Trace, bucket: IntArray, launched_by: IntArray, windows: Segments
) -> tuple[Reading, ...]:
    """Return what the trace says of its kept steps; what it does not say has no reading.

    `bucket` (a place in Bucket) and `launched_by` have shape (n,).
    """
    begun = windows.at(trace.start_ns) != NOBODY
    work = trace.is_device_work & begun
    if not work.any():
        return ()
    return (
        *_busy(trace, windows),
        *_communication(trace, work, bucket, steps=windows.owner.size),
        *message_readings(trace, work & (bucket == _COMMUNICATION)),
        *_launching(trace, work, launched_by, windows),
        *_transfers(trace, work, steps=windows.owner.size),
    )


def _busy(trace: Trace, windows: Segments) -> Iterator[Reading]:
    """Yield the share of the steps in which a device did anything: the mean of the devices used.

    It never judges: a kernel of one thread makes it 100 %.
    """
    work = np.flatnonzero(trace.is_device_work)
    processes = [lane.process for lane in trace.lanes]
    number = {process: place for place, process in enumerate(dict.fromkeys(processes))}
    device = np.array([number[process] for process in processes])[trace.lane[work]]
    work = work[np.argsort(device, kind="stable")]
    _, first = np.unique(np.sort(device), return_index=True)
    shares = [
        common_ns(union(trace.start_ns[mine], trace.end_ns[mine]), windows)
        for mine in np.split(work, first[1:])
    ]
    share = sum(shares) / len(shares) / windows.length_ns()
    yield Reading(name="gpu_busy", value=share, source="union of device events / step")


def _communication(
    trace: Trace, work: BoolArray, bucket: IntArray, *, steps: int
) -> Iterator[Reading]:
    talks, computes = work & (bucket == _COMMUNICATION), work & (bucket == _COMPUTE)
    talking = union(trace.start_ns[talks], trace.end_ns[talks])
    if talking.length_ns() == 0:
        return
    computing = union(trace.start_ns[computes], trace.end_ns[computes])
    yield Reading(
        name="comm_time",
        value=talking.length_ns() / steps / _NS,
        unit="s",
        source="union of collectives per step",
    )
    yield Reading(
        name="comm_overlap",
        value=common_ns(talking, computing) / talking.length_ns(),
        source="time of collectives beside compute / time of collectives",
    )


def _launching(
    trace: Trace, work: BoolArray, launched_by: IntArray, windows: Segments
) -> Iterator[Reading]:
    delays = launch_delays_ns(trace, launched_by, work & (trace.kind == Kind.KERNEL))
    if delays.size:
        yield Reading(
            name="launch_delay_p50",
            value=float(np.median(delays)) / _NS,
            unit="s",
            source="kernel start - launch end, median",
        )
    queue = queues(trace, launched_by)
    lengths = queue.length[windows.at(queue.time_ns) != NOBODY]
    if lengths.size:
        source = "launched and not started, at each change of a stream's queue"
        yield Reading(name="queue_len_p50", value=float(np.median(lengths)), source=source)
        yield Reading(name="queue_len_max", value=float(lengths.max()), source=source)


def _transfers(trace: Trace, work: BoolArray, *, steps: int) -> Iterator[Reading]:
    copies = work & (trace.kind == Kind.COPY)
    for direction, pattern in _DIRECTIONS.items():
        mine = copies & trace.named([pattern.search(name) is not None for name in trace.names])
        length = trace.end_ns[mine] - trace.start_ns[mine]
        if length.sum() == 0:
            continue
        yield Reading(
            name=f"{direction}_time",
            value=int(length.sum()) / steps / _NS,
            unit="s",
            source="durations of copies per step",
        )
        moved = trace.bytes[mine]
        if (moved >= 0).all():
            yield Reading(
                name=f"{direction}_bw",
                value=int(moved.sum()) / (int(length.sum()) / _NS),
                unit="B/s",
                source="bytes of copies / their durations",
            )
