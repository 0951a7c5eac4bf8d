"""Simulates a pool of equal nodes on which jobs take whole devices and run to their ends.

It gives the same times as the general event loop of `event_loop.py`, several times as fast: nodes
are bits of one number for each count of free devices, and device time is accounted for once, from
the times of all jobs.
"""

import heapq
from collections.abc import Mapping, Sequence

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.cluster import Cluster
from perfledger_cost_models.scheduling.device_time_accounting import DeviceTimeMeter, milli_by_day
from perfledger_cost_models.scheduling.expected_ends import NO_END, ExpectedEnds
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
from perfledger_cost_models.scheduling.wait_queue import WaitQueue
from perfledger_cost_models.units import MS_PER_DAY

_ORDERS = frozenset({JobOrder.SUBMISSION, JobOrder.SHORTEST, JobOrder.PRIORITY})
# The device time that a team has used is the same before and after one of its jobs starts; its
# dominant share is not.
_SHARES = frozenset({FairShareRule.NONE, FairShareRule.FAIR})
_MOMENTS_PER_COUNT = 1024  # of late jobs: counting after each moment takes as long as simulating it


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
        self._is_easy = policy.backfill is Backfill.EASY
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
        self._ends = [-1] * len(jobs)
        self._portions: list[tuple[Portion, ...]] = [()] * len(jobs)  # of running jobs
        self._events: list[tuple[int, int]] = []  # ends of running jobs
        self._expected_ends = ExpectedEnds()
        self._queue: list[tuple[int, int]] = []  # keys and jobs, if nobody may pass
        self._waiting = WaitQueue()  # if jobs may pass
        self._blocked: set[int] = set()  # sizes that have not fitted since devices were freed
        self._levels: list[tuple[tuple[int, int], ...]] = []  # nodes by free devices, by sample
        self.meter = DeviceTimeMeter(
            capacity_milli=len(nodes) * self._size * WHOLE_DEVICE,
            until_ms=until_ms,
            samples=samples,
        )
        self._sample_ms = self.meter.step_ms
        self.start_ms = self.end_ms = self.ran_ms = np.zeros(0, np.int64)
        self.rounded = 0

    def run(self, late: LateJobs | None = None) -> None:
        """Run all jobs to their ends; with `late` only until too many are, without accounts."""
        submit_ms: list[int] = self._table.submit_ms.tolist()
        can_fit = {size: self._nodes.can_fit(size) for size in set(self._devices)}
        arrivals = [job for job, size in enumerate(self._devices) if can_fit[size]]
        if late is not None:
            late.watch(arrivals, submit_ms=submit_ms, start_ms=self._starts)
        events, place, count = self._events, 0, len(arrivals)
        moments, next_ms = 0, submit_ms[arrivals[0]] if arrivals else NO_END
        while place < count or events:
            now = events[0][0] if events and events[0][0] < next_ms else next_ms
            moments += 1
            if late is not None and moments % _MOMENTS_PER_COUNT == 0 and late.count_until(now):
                return
            if self._sample_ms <= now:
                self._sample(now)
            first = place
            while next_ms == now:
                place += 1
                next_ms = submit_ms[arrivals[place]] if place < count else NO_END
            self._play(arrivals[first:place], now)
        if late is not None:
            late.count_until(NO_END)
            return
        self._sample(self.meter.until_ms)  # other pools may still get jobs
        self._account()

    def _play(self, arrivals: Sequence[int], now: int) -> None:
        """End the jobs that end now, and start some of those that wait or arrive."""
        events, queue = self._events, self._queue
        is_due = not self._may_pass
        while events and events[0][0] == now:
            self._end(heapq.heappop(events)[1], now)
            is_due = True
        if len(arrivals) <= 1 and not (queue or (is_due and self._waiting)):
            # Nobody waits, or only jobs that the next one may pass and that nothing was freed for.
            for job in arrivals:
                if not self._start(job, now):
                    self._wait(job)
            return
        for job in arrivals:
            self._wait(job)
            is_due = is_due or self._devices[job] not in self._blocked
        while queue and self._start(queue[0][1], now):
            heapq.heappop(queue)
        if is_due and self._waiting:
            self._start_all(now)

    def _sample(self, now: int) -> None:
        """Sample the free devices of the time since the last sample, in which nothing changed."""
        until_ms = min(now, self.meter.until_ms)
        while self._sample_ms <= until_ms:
            self._levels.append(self._nodes.levels())
            self._sample_ms += self.meter.step_ms

    def _wait(self, job: int) -> None:
        if self._has_one_queue:
            heapq.heappush(self._queue, (self._keys[job], job))
            return
        self._waiting.add(
            (self._team[job], self._devices[job]),
            key=self._keys[job],
            job=job,
            limit_ms=self._limit_ms[job],
            milli=self._devices[job],
        )

    def _start_all(self, now: int) -> None:
        """Start waiting jobs in order; those behind one that does not fit may pass it."""
        waiting, may_pass = self._waiting, self._may_pass
        shares = self._team_shares.shares(now)
        heads = waiting.heads(shares, blocked=self._blocked if may_pass else ())
        while heads:
            (_, _, job), line = heapq.heappop(heads)
            if self._start(job, now):
                waiting.leave(line, place=0)
                if waiting.size(line):
                    heapq.heappush(heads, (waiting.rank(line, 0, shares), line))
                continue
            if self._is_easy:
                self._backfill(job, now, shares)
            if not may_pass:
                return

    def _start(self, job: int, now: int) -> bool:
        size = self._devices[job]
        if size in self._blocked:
            return False
        portions = self._nodes.take(size)
        if portions is None:
            self._blocked.add(size)
            return False
        self._portions[job] = portions
        self._starts[job] = now
        heapq.heappush(self._events, (now + self._run_ms[job], job))
        if self._is_easy:
            self._expected_ends.add(self._expected_ms(job), job, size)
        if not self._are_teams_equal:
            self._team_shares.take(self._team[job], self._requests[size], now)
        return True

    def _end(self, job: int, now: int) -> None:
        self._nodes.give_back(self._portions[job])
        self._ends[job] = now
        if not self._are_teams_equal:
            self._team_shares.give_back(self._team[job], self._requests[self._devices[job]], now)
        if self._blocked:
            self._blocked.clear()
        if self._is_easy:
            self._expected_ends.remove(self._expected_ms(job), job, self._devices[job])

    def _expected_ms(self, job: int) -> int:
        return self._starts[job] + max(self._limit_ms[job], 1)

    def _backfill(self, head: int, now: int, shares: Mapping[int, float]) -> None:
        """Start jobs that by their time limits do not delay the head (EASY backfill)."""
        waiting = self._waiting
        shadow, spare = self._expected_ends.shadow(
            self._devices[head], free_milli=self._nodes.free, now_ms=now
        )
        while fitting := waiting.first_that_delays_nobody(
            within_ms=shadow - now,
            spare_milli=spare,
            limits=self._limit_ms,
            shares=shares,
            blocked=self._blocked,
        ):
            job, line, place = fitting
            if self._start(job, now):
                waiting.leave(line, place=place)
                if now + self._limit_ms[job] > shadow:
                    spare -= line[1]

    def _account(self) -> None:
        """Account for the device time of all jobs, and for the samples of free devices."""
        self.start_ms = np.array(self._starts, np.int64)
        self.end_ms = np.array(self._ends, np.int64)
        ran = self.end_ms >= 0
        self.ran_ms = np.where(ran, self.end_ms - self.start_ms, 0)
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
    order = np.argsort(moments, kind="stable")
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
