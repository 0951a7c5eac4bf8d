"""Turn what ran on each stream into why it stood still."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.profile import StreamIdle
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import (
    NOBODY,
    BoolArray,
    IntArray,
    Segments,
    common_ns,
    listed,
    union,
)
from perfledger_profiles.trace import UNKNOWN, Trace

# Gaps below it are what launching kernels back to back costs (HolisticTraceAnalysis's default).
KERNEL_WAIT_NS = 30_000

_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCalls:
    """What ran on one stream, in the order in which it began; all three have shape (n,), n > 0.

    `launch_ns` is when the host began to launch each call, NOBODY where that is not known.
    """

    stream: str
    start_ns: IntArray
    end_ns: IntArray
    launch_ns: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """One stream's gaps between one piece of work and the next, by reason."""

    stream: str
    host_wait_ns: int
    kernel_wait_ns: int
    other_ns: int


def stream_calls(trace: Trace, launched_by: IntArray, chosen: BoolArray) -> tuple[StreamCalls, ...]:
    """Return the chosen calls stream by stream; `launched_by` and `chosen` have shape (n,)."""
    return tuple(_streams(trace, launched_by, np.flatnonzero(chosen)))


def idle_between(calls: StreamCalls) -> Idle:
    """Return why a stream stood still before each of its calls but the first, to the letter.

    The launch came after the end of the previous call: the host was late. Else a gap below 30 us
    is between kernels; else it is something else. Calls that overlap make negative gaps, as they
    do in HolisticTraceAnalysis.
    """
    previous = calls.end_ns[:-1]
    gap = calls.start_ns[1:] - previous
    return _by_reason(calls, ended_ns=previous, wait_ns=gap, span_ns=gap)


def idle_per_step(calls: StreamCalls, windows: Segments) -> StreamIdle:
    """Return why a stream stood still in the windows, by the same rule.

    Of each gap the part counts that lies in a window. What overlaps on the stream makes no gaps.
    """
    ended = np.maximum.accumulate(calls.end_ns)[:-1]
    following = np.maximum(calls.start_ns[1:], ended)
    inside = _elapsed(windows, following) - _elapsed(windows, ended)
    found = _by_reason(calls, ended_ns=ended, wait_ns=following - ended, span_ns=inside)
    scale = windows.owner.size * _NS
    return StreamIdle(
        stream=found.stream,
        busy_seconds=common_ns(union(calls.start_ns, calls.end_ns), windows) / scale,
        host_wait_seconds=found.host_wait_ns / scale,
        kernel_wait_seconds=found.kernel_wait_ns / scale,
        other_seconds=found.other_ns / scale,
    )


def stream_names(trace: Trace, calls: Sequence[int]) -> tuple[str, ...]:
    """Return what these calls' streams are called: by number, after the device's of several."""
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
    names = stream_names(trace, listed(work[first]))
    for name, mine in zip(names, np.split(work, first[1:]), strict=True):
        launch = launched_by[mine]
        yield StreamCalls(
            stream=name,
            start_ns=trace.start_ns[mine],
            end_ns=trace.end_ns[mine],
            launch_ns=np.where(launch == NOBODY, NOBODY, trace.start_ns[launch]),
        )


def _by_reason(
    calls: StreamCalls, *, ended_ns: IntArray, wait_ns: IntArray, span_ns: IntArray
) -> Idle:
    """Sum the spans before all calls but the first by what the waits for them tell; all (n - 1,).

    `ended_ns` is when the work before was over.
    """
    launch_ns = calls.launch_ns[1:]
    is_late = (launch_ns != NOBODY) & (launch_ns > ended_ns)
    is_short = ~is_late & (wait_ns < KERNEL_WAIT_NS)
    return Idle(
        stream=calls.stream,
        host_wait_ns=int(span_ns[is_late].sum()),
        kernel_wait_ns=int(span_ns[is_short].sum()),
        other_ns=int(span_ns[~is_late & ~is_short].sum()),
    )


def _elapsed(windows: Segments, times_ns: IntArray) -> IntArray:
    """Return how much of the windows lies before each of these instants."""
    length = windows.end_ns - windows.start_ns
    before = np.append(0, np.cumsum(length))
    place = np.searchsorted(windows.start_ns, times_ns, side="right")
    last = np.maximum(place - 1, 0)
    over = np.minimum(np.maximum(times_ns - windows.start_ns[last], 0), length[last])
    return np.where(place == 0, 0, before[last] + over)
