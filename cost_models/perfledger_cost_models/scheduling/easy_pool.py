"""Simulates a pool of equal nodes with EASY backfill, several times as fast as `event_loop.py`.

A job is tried again only if it may start: once devices were freed for its size, or once the first
job's reservation leaves others more time or devices than before.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.scheduling.cluster import Cluster
from perfledger_cost_models.scheduling.equal_nodes import EqualNodesPool, RunningEnd
from perfledger_cost_models.scheduling.expected_ends import NO_END
from perfledger_cost_models.scheduling.policy import SchedulingPolicy
from perfledger_cost_models.scheduling.wait_queue import QueueHead, QueueKey


class EasyPool(EqualNodesPool):
    """The simulation of one pool of equal nodes where jobs pass by EASY backfill.

    After each moment a waiting job of at most NodeBits.most devices ends too late for the
    reservation (`_shadow_ms`), and takes more than is spare beside it.
    """

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
        super().__init__(jobs, cluster, nodes, policy, until_ms=until_ms, samples=samples)
        self._has_limits = bool((jobs.limit_ms != np.maximum(jobs.run_ms, 1)).any())
        # The ends by time limits, earliest first; those of the events where there are no limits.
        self._expected_ends: list[RunningEnd] = [] if self._has_limits else self._events
        self._reserved_for = -1  # the job whose reservation is still right
        self._shadow_ms = self._spare = 0  # when it can start, and devices that it leaves then
        self._tested = 0  # the most devices that may have fitted before jobs ended

    def _end_jobs(self, now: int) -> None:
        self._tested = self._nodes.most
        super()._end_jobs(now)

    def _end(self, job: int, now: int) -> None:
        super()._end(job, now)
        expected_ms = now
        if self._has_limits:
            expected_ms = self._starts[job] + max(self._limit_ms[job], 1)
            del self._expected_ends[bisect_left(self._expected_ends, (expected_ms, job, ()))]
        if expected_ms >= self._shadow_ms:
            self._reserved_for = -1

    def _start(self, job: int, now: int) -> bool:
        if not super()._start(job, now):
            return False
        expected_ms = now + max(self._limit_ms[job], 1)
        if self._has_limits:
            insort(self._expected_ends, (expected_ms, job, ()))
        if expected_ms >= self._shadow_ms:
            self._reserved_for = -1
        return True

    def _start_jobs(self, arrivals: Sequence[int], now: int, *, is_freed: bool) -> None:
        if is_freed or len(arrivals) != 1:
            for job in arrivals:
                self._wait(job)
                self._head = None
            if self._waiting.lines:
                self._start_waiting(now, tested=0 if arrivals else self._tested)
        else:
            self._start_arrival(arrivals[0], now)

    def _start_arrival(self, job: int, now: int) -> None:
        """Start a job that arrives alone while none ends, and those that it lets pass."""
        if not self._waiting.lines:
            if not self._start(job, now):
                self._wait(job)
        elif self._head is None or self._head[0] > (0.0, self._keys[job], job):
            self._wait(job)
            self._head = None
            self._start_waiting(now, tested=0)
        elif self._devices[job] > self._nodes.most:
            self._wait(job)
        elif self._reserve(self._head, now):
            self._wait(job)
            self._start_early(self._fitting_lines(), now, {})
        elif not self._start_if_early(job, now):
            self._wait(job)

    def _start_if_early(self, job: int, now: int) -> bool:
        size = self._devices[job]
        is_short = self._limit_ms[job] <= self._shadow_ms - now
        if not (is_short or size <= self._spare) or not self._start(job, now):
            return False
        if not is_short:
            self._spare -= size
        return True

    def _start_waiting(self, now: int, *, tested: int) -> None:
        """Start waiting jobs in order until one does not fit; then those that do not delay it.

        Jobs of up to `tested` devices are such only if the reservation leaves more than before.
        """
        shares = {} if self._are_teams_equal else self._team_shares.shares(now)
        if self._head is None or self._head[1][1] <= self._nodes.most:
            self._start_in_order(now, shares)
        most = self._nodes.most
        lines = [line for line in self._waiting.lines if line[1] <= most]
        if lines and self._head is not None:
            if not self._reserve(self._head, now):
                lines = [line for line in lines if line[1] > tested]
            if lines:
                self._start_early(lines, now, shares)
        if not self._are_teams_equal:
            self._head = None  # their order changes with time

    def _reserve(self, head: QueueHead, now: int) -> bool:
        """Reserve devices for the first job; return whether others may now last or take more."""
        job = head[0][2]
        before_ms, before = self._shadow_ms, self._spare
        if job == self._reserved_for and now <= before_ms:
            return False
        size, free = self._devices[job], self._nodes.free
        # Jobs that start and end before it do not change it, unless enough devices are free now
        # that lie on too many nodes.
        self._reserved_for = job if free < size else -1
        free -= size
        shadow_ms = NO_END
        for expected_ms, running, _ in self._expected_ends:
            free += self._devices[running]
            if free >= 0:
                shadow_ms = expected_ms
                break
        shadow_ms = max(shadow_ms, now)
        self._shadow_ms, self._spare = shadow_ms, free
        return free > before or (shadow_ms > before_ms and shadow_ms > now)

    def _start_early(
        self, lines: Sequence[QueueKey], now: int, shares: Mapping[int, float]
    ) -> None:
        self._spare = self._waiting.start_early(
            lines,
            lambda job: self._start(job, now),
            within_ms=self._shadow_ms - now,
            spare_milli=self._spare,
            limits=self._limit_ms,
            shares=shares,
        )
