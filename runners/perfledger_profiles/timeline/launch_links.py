"""Links launches with device work, and derives launch delays and queue lengths."""

from dataclasses import dataclass

import numpy as np

from perfledger_profiles.timeline.intervals import NO_CALL, BoolArray, IntArray
from perfledger_profiles.timeline.trace import CallKind, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchQueues:
    """The queue lengths of streams at each launch and at each start on the device."""

    time_ns: IntArray
    length: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedWork:
    """A device's work and when the host launched it, NO_CALL if unknown; all have shape (n,).

    `lane` distinguishes streams. `launched_ns` is the launch's end, at most the start of the work.
    """

    lane: IntArray
    start_ns: IntArray
    end_ns: IntArray
    launch_ns: IntArray
    launched_ns: IntArray

    def where(self, chosen: BoolArray | IntArray) -> "LaunchedWork":
        """Return the chosen work, selected by a mask or by places in any order."""
        return LaunchedWork(
            lane=self.lane[chosen],
            start_ns=self.start_ns[chosen],
            end_ns=self.end_ns[chosen],
            launch_ns=self.launch_ns[chosen],
            launched_ns=self.launched_ns[chosen],
        )

    def by_start(self) -> "LaunchedWork":
        """Return the work in order of its start."""
        return self.where(np.argsort(self.start_ns, kind="stable"))


def launched_work(trace: Trace, launched_by: IntArray) -> LaunchedWork:
    """Return a trace's device work; `launched_by` has shape (n,), see `launches_of`."""
    work = np.flatnonzero(trace.is_device_work)
    launch = launched_by[work]
    return LaunchedWork(
        lane=trace.lane[work],
        start_ns=trace.start_ns[work],
        end_ns=trace.end_ns[work],
        launch_ns=np.where(launch == NO_CALL, NO_CALL, trace.start_ns[launch]),
        launched_ns=np.where(
            launch == NO_CALL, NO_CALL, np.minimum(trace.end_ns[launch], trace.start_ns[work])
        ),
    )


def launches_of(trace: Trace) -> IntArray:
    """Return the host call that started each device call, NO_CALL if unknown.

    The result has shape (n,). Of several calls with one correlation number the innermost counts:
    the one that began last.
    """
    launches = np.full(trace.name.shape, NO_CALL, dtype=np.int64)
    hosts = np.flatnonzero(trace.is_on_host & (trace.correlation > 0))
    work = np.flatnonzero(trace.is_device_work & (trace.correlation > 0))
    if hosts.size == 0 or work.size == 0:
        return launches
    hosts = hosts[np.lexsort((trace.start_ns[hosts], trace.correlation[hosts]))]
    linked = trace.correlation[hosts]
    place = np.searchsorted(linked, trace.correlation[work], side="right") - 1
    is_known = (place >= 0) & (linked[place] == trace.correlation[work])
    launches[work[is_known]] = hosts[place[is_known]]
    return launches


def operators_of(trace: Trace, parents: IntArray, launched_by: IntArray) -> IntArray:
    """Return the innermost operator around the launch of each call, NO_CALL if there is none.

    `parents`, `launched_by` and the result have shape (n,). Each round looks twice as far up as the
    previous one; the last place stands for NO_CALL.
    """
    places = np.arange(parents.size, dtype=np.int64)
    up = np.append(np.where(trace.kind == CallKind.OPERATOR, places, parents), NO_CALL)
    while not np.array_equal(up[up], up):
        up = up[up]
    return up[launched_by]


def launch_delays_ns(trace: Trace, launched_by: IntArray, chosen: BoolArray) -> IntArray:
    """Return the time from the end of each launch to the start of its work, at least 0.

    Long delays mean that the device is behind and does not wait for the host.
    """
    work = np.flatnonzero(chosen & (launched_by != NO_CALL))
    delays: IntArray = np.maximum(trace.start_ns[work] - trace.end_ns[launched_by[work]], 0)
    return delays


def queues(trace: Trace, launched_by: IntArray) -> LaunchQueues:
    """Return the length of each stream's queue at each change.

    A launch adds one, a start on the device removes one; only linked calls count
    (HolisticTraceAnalysis's queue length). If clocks disagree, a call may start before its launch:
    it was never queued.
    """
    work = np.flatnonzero(launched_by != NO_CALL)
    lane = np.tile(trace.lane[work], 2)
    launched = trace.start_ns[launched_by[work]]
    time = np.concatenate([launched, np.maximum(trace.start_ns[work], launched)])
    change = np.repeat(np.array([1, -1], dtype=np.int64), work.size)
    order = np.lexsort((-change, time, lane))
    lane, time, change = lane[order], time[order], change[order]
    total = np.cumsum(change)
    # The running sum is each stream's own length, because the streams before it sum to zero: every
    # launch has a start.
    return LaunchQueues(time_ns=time, length=total)
