"""Turn what ran on each stream into why it stood still."""

from dataclasses import dataclass

import numpy as np

from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import NOBODY, BoolArray, IntArray, union
from perfledger_profiles.trace import UNKNOWN, Trace

# Gaps below it are what launching kernels back to back costs (HolisticTraceAnalysis's default).
KERNEL_WAIT_NS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """One stream's gaps between one piece of work and the next, by reason."""

    stream: str
    busy_ns: int
    host_wait_ns: int
    kernel_wait_ns: int
    other_ns: int


def idle_streams(
    trace: Trace, launched_by: IntArray, chosen: BoolArray, *, since_ns: IntArray | None = None
) -> tuple[Idle, ...]:
    """Return why each stream stood still before each of its chosen calls, the busiest first.

    The launch came after the end of the previous call: the host was late. Else a gap below 30 us
    is between kernels; else it is something else. Calls that overlap on a stream make negative
    gaps, as in HolisticTraceAnalysis. `since_ns`, of shape (n,), limits each call's gap: what was
    before is not its business.
    """
    work = np.flatnonzero(chosen)
    work = work[np.argsort(trace.start_ns[work], kind="stable")]
    lanes = trace.lane[work]
    found = [_idle(trace, launched_by, work[lanes == lane], since_ns) for lane in np.unique(lanes)]
    return tuple(sorted(found, key=lambda idle: (-idle.busy_ns, idle.stream)))


def stream_name(trace: Trace, call: int) -> str:
    """Return what a stream is called: its number, with its device's where there are several."""
    lane = trace.lanes[int(trace.lane[call])]
    number = int(trace.stream[call])
    text = str(number) if number != UNKNOWN else str(lane.thread).removeprefix("stream ")
    devices = {each.process for each in trace.lanes if each.is_device}
    return clean_name(text if len(devices) == 1 else f"{lane.process}:{text}")


def _idle(trace: Trace, launched_by: IntArray, work: IntArray, since_ns: IntArray | None) -> Idle:
    start, end = trace.start_ns[work], trace.end_ns[work]
    previous = end[:-1]
    if since_ns is not None:
        previous = np.maximum(previous, np.minimum(since_ns[work][1:], start[1:]))
    gap = start[1:] - previous
    launch = launched_by[work][1:]
    is_late = (launch != NOBODY) & (trace.start_ns[launch] > previous)
    is_short = ~is_late & (gap < KERNEL_WAIT_NS)
    return Idle(
        stream=stream_name(trace, int(work[0])),
        busy_ns=union(start, end).length_ns(),
        host_wait_ns=int(gap[is_late].sum()),
        kernel_wait_ns=int(gap[is_short].sum()),
        other_ns=int(gap[~is_late & ~is_short].sum()),
    )
