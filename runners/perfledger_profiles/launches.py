"""Turn a trace's correlation numbers into links, launch delays and queue lengths."""

from dataclasses import dataclass

import numpy as np

from perfledger_profiles.spans import NOBODY, BoolArray, IntArray
from perfledger_profiles.trace import Kind, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Queues:
    """How many launches a stream had before it, at each launch and each start on the device."""

    time_ns: IntArray
    length: IntArray


def launches_of(trace: Trace) -> IntArray:
    """Return the host's call that started each call on the device, NOBODY where unknown.

    The result has shape (n,). Of several calls with one correlation the innermost is meant: the
    last that began.
    """
    found = np.full(trace.name.shape, NOBODY, dtype=np.int64)
    hosts = np.flatnonzero(trace.is_on_host & (trace.correlation > 0))
    work = np.flatnonzero(trace.is_device_work & (trace.correlation > 0))
    if hosts.size == 0 or work.size == 0:
        return found
    hosts = hosts[np.lexsort((trace.start_ns[hosts], trace.correlation[hosts]))]
    linked = trace.correlation[hosts]
    place = np.searchsorted(linked, trace.correlation[work], side="right") - 1
    is_known = (place >= 0) & (linked[place] == trace.correlation[work])
    found[work[is_known]] = hosts[place[is_known]]
    return found


def operators_of(trace: Trace, around: IntArray, launched_by: IntArray) -> IntArray:
    """Return the innermost operator around the launch of each call, NOBODY outside of all.

    `around` and `launched_by` have shape (n,), as has the result. Each round looks twice as far up
    as the one before; the last place stands for NOBODY.
    """
    own = np.arange(around.size, dtype=np.int64)
    up = np.append(np.where(trace.kind == Kind.OPERATOR, own, around), NOBODY)
    while not np.array_equal(up[up], up):
        up = up[up]
    found: IntArray = up[launched_by]
    return found


def launch_delays_ns(trace: Trace, launched_by: IntArray, chosen: BoolArray) -> IntArray:
    """Return from the end of each launch to the start of what it launched, zero if that was before.

    Long delays mean that the device is behind: the host is not what it waits for.
    """
    work = np.flatnonzero(chosen & (launched_by != NOBODY))
    delays: IntArray = np.maximum(trace.start_ns[work] - trace.end_ns[launched_by[work]], 0)
    return delays


def queues(trace: Trace, launched_by: IntArray) -> Queues:
    """Return the length of each stream's queue whenever it changes.

    A launch adds one, a start on the device takes one away; only linked calls count
    (HolisticTraceAnalysis's queue length). By clocks that disagree a call may start before its
    launch: it was never queued.
    """
    work = np.flatnonzero(launched_by != NOBODY)
    lane = np.tile(trace.lane[work], 2)
    launched = trace.start_ns[launched_by[work]]
    time = np.concatenate([launched, np.maximum(trace.start_ns[work], launched)])
    change = np.repeat(np.array([1, -1], dtype=np.int64), work.size)
    order = np.lexsort((-change, time, lane))
    lane, time, change = lane[order], time[order], change[order]
    total = np.cumsum(change)
    # Each stream's own count: less what the streams before it add up to, which is nothing, since
    # every launch has its start.
    return Queues(time_ns=time, length=total)
