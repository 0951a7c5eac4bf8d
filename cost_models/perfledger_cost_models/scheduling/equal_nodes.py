"""Simulates a pool of equal nodes on which jobs take whole devices and run to their ends.

It gives the same times as the general event loop of `event_loop.py`, several times as fast: nodes
are bits of one number for each count of free devices, and device time is accounted for once, from
the times of all jobs.
"""

import heapq
from bisect import insort
from collections.abc import Mapping, Sequence

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.cluster import Cluster
from perfledger_cost_models.scheduling.device_time_accounting import DeviceTimeMeter, milli_by_day
from perfledger_cost_models.scheduling.expected_ends import NO_END
from perfledger_cost_models.scheduling.fair_share import TeamShares
from perfledger_cost_models.scheduling.late_jobs import LateJobs
from perfledger_cost_models.scheduling.placement.free_devices import ResourceRequest
from perfledger_cost_models.scheduling.placement.node_bits import NodeBits, Portion
from perfledger_cost_models.scheduling.placement.whole_devices import NodeFragments, are_whole
from perfledger_cost_models.scheduling.policy import (
    Backfill,
    FairShareRule,
    JobOrder,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.reservations import Reservation
from perfledger_cost_models.scheduling.wait_queue import QueueHead, QueueKey, WaitQueue
from perfledger_cost_models.units import MS_PER_DAY

_ORDERS = frozenset({JobOrder.SUBMISSION, JobOrder.SHORTEST, JobOrder.PRIORITY})
# The device time that a team has used is the same before and after one of its jobs starts; its
# dominant share is not.
_SHARES = frozenset({FairShareRule.NONE, FairShareRule.FAIR})
RunningEnd = tuple[int, int, tuple[Portion, ...]]  # when a running job ends, and its devices
_LATE_CHECKS = 1000  # of a replay: counting after each moment takes as long as simulating it


def is_plain(
    jobs: JobTable,
    cluster: Cluster,
    nodes: IntArray,
    policy: SchedulingPolicy,
    reservations: Sequence[Reservation],
) -> bool:
    """Return whether EqualNodesPool can simulate a pool, its jobs and a policy."""
    is_simple = (
        policy.order in _ORDERS
        and policy.share in _SHARES
        and policy.preemption is Preemption.NEVER
    )
    return is_simple and not reservations and are_whole(jobs, cluster, nodes, policy)


class EqualNodesPool:
    """The simulation of one pool of equal nodes."""

    preemptions = 0

    def __init__(
        self,
        jobs: JobTable,
        cluster: Cluster,
        nodes: IntArray,
        policy: SchedulingPolicy,
        *,
        until_ms: int,
        samples: int,
    ) -> None:
        self._table = jobs
        self._policy = policy
        self._size = int(cluster.devices[nodes[0]])
        self._nodes = NodeBits(len(nodes), self._size, policy.placement)
        self._devices: list[int] = jobs.devices.tolist()
        self._run_ms: list[int] = jobs.run_ms.tolist()
        self._limit_ms: list[int] = jobs.limit_ms.tolist()
        self._keys = _sort_keys(jobs, policy.order)
        self._are_teams_equal = policy.share is FairShareRule.NONE
        # Where jobs may pass, all that wait are blocked until a job ends.
        self._may_pass = policy.backfill is Backfill.ALWAYS
        self._has_one_queue = self._are_teams_equal and policy.backfill is Backfill.NEVER
        self._team: list[int] = (
            [0] * len(jobs) if self._are_teams_equal else jobs.team.codes.tolist()
        )
        self._requests = {
            size: ResourceRequest(size, WHOLE_DEVICE, 0, 0, 0) for size in set(self._devices)
        }
        self._team_shares = TeamShares(
            policy.share, milli=len(nodes) * self._size * WHOLE_DEVICE, cpu=0, memory=0
        )
        self._starts = [-1] * len(jobs)
        # Earliest first; the last one is that of no job.
        self._events: list[RunningEnd] = [(NO_END, -1, ())]
        self._queue: list[tuple[int, int]] = []  # keys and jobs, if there is one queue
        self._waiting = WaitQueue()  # if there are several
        self._head: QueueHead | None = None  # the first of all that wait, as long as it is known
        self._levels: list[tuple[tuple[int, int], ...]] = []  # nodes by free devices, by sample
        self.meter = DeviceTimeMeter(
            capacity_milli=len(nodes) * self._size * WHOLE_DEVICE,
            until_ms=until_ms,
            samples=samples,
        )
        self._check_ms = self.meter.step_ms  # when free devices are sampled, or late jobs counted
        self.start_ms = self.end_ms = self.ran_ms = np.zeros(0, np.int64)
        self.rounded = 0

    def run(self, late: LateJobs | None = None) -> None:
        """Run all jobs to their ends; with `late` only until too many are, without accounts."""
        arrivals, arrival_ms = self._arrivals(late)
        events, place = self._events, 0
        while (end_ms := events[0][0]) < NO_END or arrival_ms[place] < NO_END:
            now = arrival_ms[place]
            is_freed = end_ms <= now
            if is_freed:
                now = end_ms
            if now >= self._check_ms and self._is_over(now, late):
                return
            if is_freed:
                self._end_jobs(now)
            first = place
            while arrival_ms[place] == now:
                place += 1
            self._start_jobs(arrivals[first:place], now, is_freed=is_freed)
        self._is_over(NO_END, late)
        if late is None:
            self._account()

    def _arrivals(self, late: LateJobs | None) -> tuple[list[int], list[int]]:
        """Return the jobs that fit empty nodes, and their times; the last time is of no job."""
        submit_ms: list[int] = self._table.submit_ms.tolist()
        can_fit = {size: self._nodes.can_fit(size) for size in set(self._devices)}
        arrivals = [job for job, size in enumerate(self._devices) if can_fit[size]]
        if late is not None:
            late.watch(arrivals, submit_ms=submit_ms, start_ms=self._starts)
        return arrivals, [*(submit_ms[job] for job in arrivals), NO_END]

    def _is_over(self, now: int, late: LateJobs | None) -> bool:
        """Sample the free devices until now, or return whether too many jobs are late by then.

        Nothing has changed since the last moment. Other pools may still get jobs after the last
        end.
        """
        meter = self.meter
        if late is not None:
            self._check_ms = now + max(meter.until_ms // _LATE_CHECKS, 1)
            return late.count_until(now)
        until_ms = min(now, meter.until_ms)
        while self._check_ms <= until_ms:
            self._levels.append(self._nodes.levels())
            self._check_ms += meter.step_ms
        return False

    def _end_jobs(self, now: int) -> None:
        """End the jobs that end now."""
        events, nodes = self._events, self._nodes
        while events[0][0] == now:
            _, job, portions = events.pop(0)
            nodes.give_back(portions)
            self._end(job, now)

    def _end(self, job: int, now: int) -> None:
        """Take note of a job whose devices are free again."""
        if not self._are_teams_equal:
            request = self._requests[self._devices[job]]
            self._team_shares.give_back(self._team[job], request, now)

    def _start_jobs(self, arrivals: Sequence[int], now: int, *, is_freed: bool) -> None:
        """Start some of the jobs that wait or arrive; the others wait."""
        if self._has_one_queue:
            queue = self._queue
            for job in arrivals:
                heapq.heappush(queue, (self._keys[job], job))
            while queue and self._start(queue[0][1], now):
                heapq.heappop(queue)
        else:
            self._start_of_lines(arrivals, now, is_freed=is_freed)

    def _start_of_lines(self, arrivals: Sequence[int], now: int, *, is_freed: bool) -> None:
        if not is_freed and len(arrivals) == 1 and (self._may_pass or not self._waiting.lines):
            # Nobody waits, or only jobs that the next one may pass and that nothing was freed for.
            if not self._start(arrivals[0], now):
                self._wait(arrivals[0])
            return
        for job in arrivals:
            self._wait(job)
        if self._may_pass:
            self._start_fitting(now)
        elif self._fitting_lines():
            self._start_in_order(now, self._team_shares.shares(now))
            self._head = None

    def _wait(self, job: int) -> None:
        self._waiting.add(
            (self._team[job], self._devices[job]),
            key=self._keys[job],
            job=job,
            limit_ms=self._limit_ms[job],
            milli=self._devices[job],
        )

    def _fitting_lines(self) -> list[QueueKey]:
        """Return the lines whose jobs may fit; the jobs of the others do not."""
        most = self._nodes.most
        return [line for line in self._waiting.lines if line[1] <= most]

    def _start_fitting(self, now: int) -> None:
        """Start waiting jobs in order; those behind one that does not fit may pass it."""
        lines = self._fitting_lines()
        if not lines:
            return
        waiting, shares = self._waiting, self._team_shares.shares(now)
        heads = waiting.heads(shares, lines)
        while heads:
            (_, _, job), line = heapq.heappop(heads)
            if self._start(job, now):
                waiting.leave(line, place=0)
                if waiting.size(line):
                    heapq.heappush(heads, (waiting.rank(line, 0, shares), line))

    def _start_in_order(self, now: int, shares: Mapping[int, float]) -> None:
        """Start waiting jobs in order until one does not fit."""
        waiting = self._waiting
        while waiting.lines:
            if self._head is None:
                self._head = min(waiting.heads(shares, waiting.lines))
            (_, _, job), line = self._head
            if not self._start(job, now):
                return
            waiting.leave(line, place=0)
            self._head = None

    def _start(self, job: int, now: int) -> bool:
        size = self._devices[job]
        if size > self._nodes.most or (portions := self._nodes.take(size)) is None:
            return False
        self._starts[job] = now
        insort(self._events, (now + self._run_ms[job], job, portions))
        if not self._are_teams_equal:
            self._team_shares.take(self._team[job], self._requests[size], now)
        return True

    def _account(self) -> None:
        """Account for the device time of all jobs, and for the samples of free devices."""
        self.start_ms = np.array(self._starts, np.int64)
        ran = self.start_ms >= 0
        self.ran_ms = np.where(ran, self._table.run_ms, 0)
        self.end_ms = np.where(ran, self.start_ms + self.ran_ms, -1)
        start, end, submit = self.start_ms[ran], self.end_ms[ran], self._table.submit_ms[ran]
        milli = self._table.devices[ran] * WHOLE_DEVICE
        self.rounded = int(np.sum((milli - self._table.milli[ran]) * self._table.run_ms[ran]))
        until_ms, last_ms = self.meter.until_ms, int(end.max(initial=0))
        self.meter.allocated = _by_day(milli_by_day(start, end, milli, until_ms=last_ms))
        self.meter.allocated_before_end = _by_day(
            milli_by_day(start, end, milli, until_ms=until_ms)
        )
        self.meter.idle_demand = _idle_demand(
            submit, start, end, milli, capacity_milli=self.meter.capacity_milli
        )
        self._account_samples()

    def _account_samples(self) -> None:
        fragments = NodeFragments(self._table, self._size)
        for sample, levels in enumerate(self._levels, start=1):
            free_milli, amount = 0, 0.0
            for free, count in levels:
                free_milli += free * count * WHOLE_DEVICE
                amount += fragments.of_node(free) * count
            day = sample * self.meter.step_ms // MS_PER_DAY
            self.meter.add_sample(day, free_milli=free_milli, unusable_milli=round(amount))


def _sort_keys(jobs: JobTable, order: JobOrder) -> list[int]:
    """Return the sort keys of waiting jobs; the smallest is first."""
    keys: IntArray = np.zeros(len(jobs), np.int64)
    if order is JobOrder.SHORTEST:
        keys = jobs.run_ms
    elif order is JobOrder.PRIORITY:
        keys = -jobs.priority
    ranked: list[int] = keys.tolist()
    return ranked


def _idle_demand(
    submit: IntArray, start: IntArray, end: IntArray, milli: IntArray, *, capacity_milli: int
) -> dict[int, int]:
    """Return the device time that was free while jobs waited for it, by day."""
    last_ms = int(end.max(initial=0))
    moments = np.concatenate((submit, start, end))
    order = np.argsort(moments)
    zeros = np.zeros(len(milli), np.int64)
    free = capacity_milli + np.cumsum(np.concatenate((zeros, -milli, milli))[order])
    waiting = np.cumsum(np.concatenate((milli, -milli, zeros))[order])
    demand = np.minimum(free, waiting)[:-1]
    moments = moments[order]
    has_demand = demand > 0
    spans = moments[:-1][has_demand], moments[1:][has_demand], demand[has_demand]
    return _by_day(milli_by_day(*spans, until_ms=last_ms))


def _by_day(sums: IntArray) -> dict[int, int]:
    days: list[int] = sums.tolist()
    return dict(enumerate(days))
