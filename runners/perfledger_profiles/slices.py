"""Turn the step nearest to the median into the stretches of its picture."""

import numpy as np

from perfledger.profile import Bucket, Slice
from perfledger_profiles.idle import stream_names
from perfledger_profiles.labels import Labels, Threads
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import IntArray, Segments, listed
from perfledger_profiles.trace import Lane, Trace

# More cannot be told apart in a picture, and what is left out is the shortest.
MAX_SLICES = 400

_NS = 1e9
_BUCKETS = tuple(Bucket)


def step_slices(
    trace: Trace, labels: Labels, threads: Threads, windows: Segments, *, main: int
) -> tuple[Slice, ...]:
    """Return the longest calls of the step nearest to the median, in the order of their start.

    Those of the device and of the process that takes the steps; its thread is the lane "host".
    """
    length = windows.end_ns - windows.start_ns
    nearest = int(np.argmin(np.abs(length - np.median(length))))
    begin, end = int(windows.start_ns[nearest]), int(windows.end_ns[nearest])
    chosen = trace.is_device_work.copy()
    for lane, nesting in threads.by_lane.items():
        if trace.lanes[lane].process == trace.lanes[main].process:
            chosen[nesting.ranked] = True
    start = np.maximum(trace.start_ns, begin)
    inside = np.minimum(trace.end_ns, end) - start
    calls = np.flatnonzero(chosen & (inside > 0))
    calls = calls[np.argsort(-inside[calls], kind="stable")[:MAX_SLICES]]
    lanes = _lane_names(trace, calls, main=main)
    calls = calls[np.lexsort((threads.depth[calls], start[calls], trace.lane[calls]))]
    return tuple(
        Slice(
            lane=lanes[int(trace.lane[call])],
            name=labels.table[int(labels.label[call])].name,
            bucket=_BUCKETS[int(labels.bucket[call])],
            start_seconds=int(start[call] - begin) / _NS,
            seconds=int(inside[call]) / _NS,
            depth=int(threads.depth[call]),
        )
        for call in calls.tolist()
    )


def _lane_names(trace: Trace, calls: IntArray, *, main: int) -> dict[int, str]:
    lanes, first = np.unique(trace.lane[calls], return_index=True)
    streams = stream_names(trace, listed(calls[first]))
    return {
        lane: _lane_name(trace.lanes[lane], stream, is_main=lane == main)
        for lane, stream in zip(listed(lanes), streams, strict=True)
    }


def _lane_name(lane: Lane, stream: str, *, is_main: bool) -> str:
    if lane.is_device:
        return f"stream {stream}"
    return "host" if is_main else clean_name(f"thread {lane.thread}")
