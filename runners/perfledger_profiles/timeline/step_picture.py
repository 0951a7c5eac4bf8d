"""Selects the calls shown in the picture of the median step."""

import numpy as np

from perfledger.profile import Bucket, StepSlice
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.call_labels import CallLabels, ThreadNesting
from perfledger_profiles.timeline.idle_reasons import stream_names
from perfledger_profiles.timeline.intervals import IntArray, TimeSegments, to_list
from perfledger_profiles.timeline.trace import Trace, TraceLane

# A picture cannot show more; the shortest are left out.
MAX_SLICES = 400

_BUCKETS = tuple(Bucket)


def step_slices(
    trace: Trace, labels: CallLabels, threads: ThreadNesting, windows: TimeSegments, *, main: int
) -> tuple[StepSlice, ...]:
    """Return the longest calls of the step nearest to the median, in order of their start.

    They are the calls of the device and of the process that runs the steps; the lane "host" is its
    main thread.
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
        StepSlice(
            lane=lanes[int(trace.lane[call])],
            name=labels.table[int(labels.label[call])].name,
            bucket=_BUCKETS[int(labels.bucket[call])],
            start_seconds=int(start[call] - begin) / NS_PER_S,
            seconds=int(inside[call]) / NS_PER_S,
            depth=int(threads.depth[call]),
        )
        for call in calls.tolist()
    )


def _lane_names(trace: Trace, calls: IntArray, *, main: int) -> dict[int, str]:
    lanes, first = np.unique(trace.lane[calls], return_index=True)
    streams = stream_names(trace, to_list(calls[first]))
    return {
        lane: _lane_name(trace.lanes[lane], stream, is_main=lane == main)
        for lane, stream in zip(to_list(lanes), streams, strict=True)
    }


def _lane_name(lane: TraceLane, stream: str, *, is_main: bool) -> str:
    if lane.is_device:
        return f"stream {stream}"
    return "host" if is_main else clean_name(f"thread {lane.thread}")
