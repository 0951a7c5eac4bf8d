"""Classifies the idle gaps of streams by reason."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfledger.profile import Bucket, Operation, StreamIdle
from perfledger.rounding import digits
from perfledger_profiles.parsing.copy_names import is_copy_call
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_MS, NS_PER_S
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    intersection_ns,
    to_list,
    union,
)
from perfledger_profiles.timeline.launch_links import LaunchedWork
from perfledger_profiles.timeline.trace import UNKNOWN, Trace

HELD_UP = (
    "launched work begins up to {} ms late on an idle device, and the file does not show what "
    "holds it up: record from before its launch, and every process that uses the device"
)
IDLE_WAITS = (
    "the host waits {} ms of a step for a device without recorded work, and the file does not show "
    "for what: record the work of all devices, processes and graphs, after a warm-up"
)
# Mean of a call, beside the device's work: its driver reports the end of work within 0.1 ms.
MAX_IDLE_WAIT_SECONDS = 1e-3
# Share of the host's time; with less, its other calls keep the device waiting.
MIN_IDLE_WAITS = 0.5
_HOST_BUCKETS = frozenset({Bucket.SYNC, Bucket.RUNTIME, Bucket.CPU, Bucket.OTHER})
# Shorter gaps are the cost of launching kernels back to back (HolisticTraceAnalysis's default).
KERNEL_WAIT_NS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCalls:
    """The calls of one stream in order of their start; the columns have shape (n,), n > 0.

    `launch_ns` is when the host began to launch each call, NO_CALL if unknown.
    """

    stream: str
    start_ns: IntArray
    end_ns: IntArray
    launch_ns: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceGaps:
    """The gaps between a device's work in order, owned by place; the columns have shape (n,).

    In a late gap, the next work was launched only during the gap: the device waited for the host
    until `launched_ns`. If the rest of the gap is short, the device was only starting its next
    kernel; otherwise something else held that up.
    """

    spans: TimeSegments
    launched_ns: IntArray  # the start of the gap, unless it is late
    is_linked: BoolArray  # the launch of the next work is known
    is_late: BoolArray
    is_kernel_wait: BoolArray

    @property
    def late_spans(self) -> TimeSegments:
        """Return the parts in which the device waited for the host."""
        return replace(self.spans, end_ns=self.launched_ns).where(self.is_late)

    @property
    def held_spans(self) -> TimeSegments:
        """Return the parts in which launched work waited long for something else."""
        rest = replace(self.spans, start_ns=self.launched_ns)
        is_short = rest.end_ns - rest.start_ns < KERNEL_WAIT_NS
        return rest.where(~is_short | ~(self.is_late | self.is_kernel_wait))


def stream_calls(trace: Trace, launched_by: IntArray, chosen: BoolArray) -> tuple[StreamCalls, ...]:
    """Return the chosen calls by stream; `launched_by` and `chosen` have shape (n,)."""
    return tuple(_streams(trace, launched_by, np.flatnonzero(chosen)))


def idle_per_step(calls: StreamCalls, windows: TimeSegments) -> StreamIdle:
    """Return a stream's gaps within the windows by reason.

    A gap is a host wait if the launch came after the end of the previous work. Otherwise it is a
    kernel wait if it is below 30 us, and has another reason if it is longer, as in
    HolisticTraceAnalysis. Only the part of a gap inside a window counts. Overlapping calls have no
    gap.
    """
    ended = np.maximum.accumulate(calls.end_ns)[:-1]
    following = np.maximum(calls.start_ns[1:], ended)
    inside = _elapsed_ns(windows, following) - _elapsed_ns(windows, ended)
    launch = calls.launch_ns[1:]
    is_late = (launch != NO_CALL) & (launch > ended)
    is_short = ~is_late & (following - ended < KERNEL_WAIT_NS)
    scale = windows.owner.size * NS_PER_S
    return StreamIdle(
        stream=calls.stream,
        busy_seconds=intersection_ns(union(calls.start_ns, calls.end_ns), windows) / scale,
        host_wait_seconds=int(inside[is_late].sum()) / scale,
        kernel_wait_seconds=int(inside[is_short].sum()) / scale,
        other_seconds=int(inside[~is_late & ~is_short].sum()) / scale,
    )


def device_gaps(launched: LaunchedWork) -> DeviceGaps:
    """Return the gaps between a device's work on any stream; see `idle_per_step`."""
    work = launched.by_start()
    ended, starts = np.maximum.accumulate(work.end_ns)[:-1], work.start_ns[1:]
    is_gap = starts > ended
    ended, starts, launch = ended[is_gap], starts[is_gap], work.launch_ns[1:][is_gap]
    is_late = launch > ended
    return DeviceGaps(
        spans=TimeSegments(
            start_ns=ended, end_ns=starts, owner=np.arange(ended.size, dtype=np.int64)
        ),
        launched_ns=np.where(is_late, work.launched_ns[1:][is_gap], ended),
        is_linked=launch != NO_CALL,
        is_late=is_late,
        is_kernel_wait=(launch != NO_CALL) & ~is_late & (starts - ended < KERNEL_WAIT_NS),
    )


def waits_for_others(launched: LaunchedWork, windows: TimeSegments) -> bool:
    """Return whether a device waits longer for other things than for launches and kernels."""
    gaps = device_gaps(launched)
    other_ns = intersection_ns(gaps.held_spans, windows)
    return other_ns > intersection_ns(gaps.late_spans, windows)


def note_on_held_work(
    devices: Sequence[tuple[LaunchedWork, TimeSegments]],
) -> tuple[str, ...]:
    """Return a note if a device mostly waits, in its windows, for something not recorded."""
    longest_ns = max((_longest_held_ns(*device) for device in devices), default=0)
    longest_ms = digits(longest_ns / NS_PER_MS, 3)
    return (HELD_UP.format(longest_ms),) if longest_ns >= KERNEL_WAIT_NS else ()


def _longest_held_ns(launched: LaunchedWork, windows: TimeSegments) -> int:
    """Return the longest time that launched work was held up, 0 unless that is most of the idle."""
    if launched.lane.size == 0 or not waits_for_others(launched, windows):
        return 0
    gaps = device_gaps(launched)
    spans = gaps.held_spans.where(gaps.is_linked)
    return int((spans.end_ns - spans.start_ns).max(initial=0))


def note_on_idle_waits(operations: Sequence[Operation]) -> tuple[str, ...]:
    """Return a note if most of the host's time is long waits for a device that does not work.

    `operations` have exclusive seconds per step, so a wait beside the device's work has none. Calls
    that copy are left out: they also copy on the host.
    """
    host_s = sum(one.seconds for one in operations if one.bucket in _HOST_BUCKETS)
    waits_s = sum(
        one.seconds
        for one in operations
        if one.bucket is Bucket.SYNC
        and not is_copy_call(one.name)
        and one.seconds > MAX_IDLE_WAIT_SECONDS * one.count
    )
    is_most = waits_s > MAX_IDLE_WAIT_SECONDS and waits_s > MIN_IDLE_WAITS * host_s
    return (IDLE_WAITS.format(digits(1e3 * waits_s, 3)),) if is_most else ()


def kernel_waits(launched: LaunchedWork, *, owner: int) -> TimeSegments:
    """Return the gaps in which a device only starts its next kernel, all owned by `owner`."""
    gaps = device_gaps(launched)
    waits = gaps.spans.where(gaps.is_kernel_wait)
    return replace(waits, owner=np.full(waits.owner.shape, owner, dtype=np.int64))


def stream_names(trace: Trace, calls: Sequence[int]) -> tuple[str, ...]:
    """Return the names of these calls' streams: the number, after the device's if several."""
    devices = {lane.process for lane in trace.lanes if lane.is_device}
    names: list[str] = []
    for call in calls:
        lane = trace.lanes[int(trace.lane[call])]
        number = int(trace.stream[call])
        text = str(number) if number != UNKNOWN else str(lane.thread).removeprefix("stream ")
        names.append(clean_name(text if len(devices) == 1 else f"{lane.process}:{text}"))
    return tuple(names)


def _streams(trace: Trace, launched_by: IntArray, work: IntArray) -> Iterator[StreamCalls]:
    if work.size == 0:
        return
    work = work[np.lexsort((trace.start_ns[work], trace.lane[work]))]
    _, first = np.unique(trace.lane[work], return_index=True)
    names = stream_names(trace, to_list(work[first]))
    for name, mine in zip(names, np.split(work, first[1:]), strict=True):
        launch = launched_by[mine]
        yield StreamCalls(
            stream=name,
            start_ns=trace.start_ns[mine],
            end_ns=trace.end_ns[mine],
            launch_ns=np.where(launch == NO_CALL, NO_CALL, trace.start_ns[launch]),
        )


def _elapsed_ns(windows: TimeSegments, times_ns: IntArray) -> IntArray:
    """Return how much of the windows' time lies before each instant."""
    length = windows.end_ns - windows.start_ns
    before = np.append(0, np.cumsum(length))
    place = np.searchsorted(windows.start_ns, times_ns, side="right")
    last = np.maximum(place - 1, 0)
    over = np.minimum(np.maximum(times_ns - windows.start_ns[last], 0), length[last])
    return np.where(place == 0, 0, before[last] + over)
