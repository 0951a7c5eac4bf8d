"""Simulates one pool of a cluster under a policy, event by event.

The next event is the earliest end of a running job or the earliest submission. At one moment ends
are handled before submissions; then waiting jobs start in their order.
"""

import heapq
from collections.abc import Sequence

import numpy as np

from perfledger_cost_models.arrays import BoolArray, IntArray
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.scheduling.cluster import Cluster, limited_sum
from perfledger_cost_models.scheduling.device_time_accounting import (
    FRAGMENTATION_SAMPLES,
    DeviceTimeMeter,
)
from perfledger_cost_models.scheduling.expected_ends import NO_END, ExpectedEnds
from perfledger_cost_models.scheduling.fair_share import TeamShares
from perfledger_cost_models.scheduling.late_jobs import LateJobs
from perfledger_cost_models.scheduling.placement.free_devices import JobAllocation
from perfledger_cost_models.scheduling.placement.placement import devices_and_placer
from perfledger_cost_models.scheduling.policy import (
    Backfill,
    FairShareRule,
    JobOrder,
    Locality,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.preemption import PreemptibleDevices, RunningJob, RunningJobs
from perfledger_cost_models.scheduling.reservations import Reservation, ReservationCalendar
from perfledger_cost_models.scheduling.simulated_jobs import SimulatedJobs
from perfledger_cost_models.scheduling.wait_queue import QueueHead, QueueKey, QueueRank, WaitQueue
from perfledger_cost_models.units import MS_PER_SECOND


class PoolSimulation:
    """The simulation of one pool of nodes."""

    def __init__(
        self,
        jobs: JobTable,
        cluster: Cluster,
        nodes: IntArray,
        policy: SchedulingPolicy,
        reservations: Sequence[Reservation],
        *,
        until_ms: int,
        seed: int,
        samples: int = FRAGMENTATION_SAMPLES,
    ) -> None:
        self.start_ms = self.end_ms = self.ran_ms = np.zeros(0, np.int64)  # once all have run
        self._starts, self._ends = ([-1] * len(jobs) for _ in range(2))
        self._ran_ms = [0] * len(jobs)
        self.rounded = self.preemptions = 0
        # At every event: members of an enum are ten times as slow.
        self._is_easy = policy.backfill is Backfill.EASY
        self._may_pass = policy.backfill is Backfill.ALWAYS
        self._may_preempt = policy.preemption is not Preemption.NEVER
        self._is_restarting = policy.preemption is Preemption.RESTART
        self._is_migrating = policy.preemption is Preemption.MIGRATION
        self._is_local = policy.locality is Locality.FEWEST
        self._are_teams_equal = policy.share is FairShareRule.NONE
        # The old end of a job that stopped before starts none, unless time alone changes the order.
        is_timeless = self._are_teams_equal and not reservations
        self._has_old_ends = self._is_migrating or (self._may_preempt and is_timeless)
        self._free, self._placer, self._unusable = devices_and_placer(
            jobs, cluster, nodes, policy, has_calendar=bool(reservations), seed=seed
        )
        self._jobs = SimulatedJobs(jobs, policy, has_calendar=bool(reservations))
        self.meter = DeviceTimeMeter(
            capacity_milli=self._free.capacity_milli, until_ms=until_ms, samples=samples
        )
        self._late: LateJobs | None = None
        self._calendar = ReservationCalendar(reservations, jobs, len(nodes))
        self._waiting = WaitQueue()
        self._quantum_ms = (
            policy.quantum_s * MS_PER_SECOND if policy.order is JobOrder.TIME_SLICE else 0
        )
        self._running = RunningJobs(policy)
        self._events: list[tuple[int, int]] = [(end, -1) for end in self._calendar.ends]
        self._expected_ends = ExpectedEnds()
        self._starts_and_stops = 0
        # By class: the job whose last preemption attempt failed, how many jobs had started and
        # stopped by then, and how many running ones came after it.
        self._failed_attempts: dict[int, tuple[int, int, int]] = {}
        self._blocked: set[int] = set()  # classes that have not fitted since devices were freed
        self._team_shares = TeamShares(
            policy.share,
            milli=self._free.capacity_milli,
            cpu=limited_sum(cluster.cpu_milli[nodes]),
            memory=limited_sum(cluster.memory_mib[nodes]),
        )

    def run(self, late: LateJobs | None = None) -> None:
        """Run all jobs to their ends; with `late` only until too many are, without accounts."""
        can_fit = [self._placer.place(request) is not None for request in self._jobs.requests]
        arrivals = [job for job, index in enumerate(self._jobs.class_of) if can_fit[index]]
        submit_ms, place = self._jobs.submit_ms, 0
        self._late = late
        if late is not None:
            late.watch(arrivals, submit_ms=submit_ms, start_ms=self._starts)
        heapq.heapify(self._events)
        while True:
            now = self._next_event_ms()
            if place < len(arrivals):
                now = min(now, submit_ms[arrivals[place]])
            if now == NO_END or self._is_over(now):
                break
            first = place
            while place < len(arrivals) and submit_ms[arrivals[place]] == now:
                place += 1
            self._play(arrivals[first:place], now)
        # Other pools may still get jobs.
        self._is_over(self.meter.until_ms if late is None else NO_END)
        self.start_ms, self.end_ms, self.ran_ms = (
            np.array(each, np.int64) for each in (self._starts, self._ends, self._ran_ms)
        )

    def _play(self, arrivals: Sequence[int], now: int) -> None:
        """End the jobs that end now, and start some of those that wait or arrive."""
        while self._events and self._events[0][0] == now:
            self._end(heapq.heappop(self._events)[1], now)
        for job in arrivals:
            self._wait(job, now)
        if self._waiting:
            self._start_all(now)

    def _next_event_ms(self) -> int:
        """Return the time of the next event; the old ends of preempted or moved jobs are none."""
        while self._has_old_ends and self._events:
            end_ms, job = self._events[0]
            run = self._running.get(job)
            if job < 0 or (run is not None and run.end_ms == end_ms):
                break
            heapq.heappop(self._events)
        return self._events[0][0] if self._events else NO_END

    def _is_over(self, now: int) -> bool:
        """Account for the time until now, or return whether too many jobs are late by then."""
        if self._late is not None:
            return self._late.count_until(now)
        self.meter.advance(
            now,
            free_milli=self._free.free_milli,
            waiting_milli=self._waiting.milli,
            unusable=self._unusable,
        )
        return False

    def _wait(self, job: int, since_ms: int) -> None:
        self._waiting.add(
            self._jobs.queue_key(job),
            key=self._jobs.sort_key(job, since_ms),
            job=job,
            limit_ms=self._jobs.limit_ms[job],
            milli=self._jobs.milli(job),
        )

    def _start_all(self, now: int) -> None:
        """Start waiting jobs in order until the next one does not fit and none may pass it."""
        if self._calendar.ends or self._may_preempt:
            self._blocked.clear()
        if self._is_migrating:
            self._migrate(now)
            return
        heads = self._queue_heads(now)
        while heads:
            (_, _, job), line = heapq.heappop(heads)
            is_open = line[1] not in self._blocked and not self._is_still_blocked(job, now)
            if is_open and self._start(job, now):
                heads = self._next_heads(heads, line, now)
            elif is_open and self._preempt(job, line, now):
                heads = self._queue_heads(now)
            else:
                self._blocked.add(line[1])
                if self._is_easy:
                    self._backfill(job, now)
                if not self._may_pass:
                    return

    def _next_heads(self, heads: list[QueueHead], line: QueueKey, now: int) -> list[QueueHead]:
        """Return the heads of the lines once the head of one line has started."""
        self._waiting.leave(line, place=0)
        if not self._are_teams_equal:
            return self._queue_heads(now)  # the share of its team has grown
        if self._waiting.size(line):
            heapq.heappush(heads, (self._waiting.rank(line, 0, {}), line))
        return heads

    def _queue_heads(self, now: int) -> list[QueueHead]:
        """Return the first job of each line, as a heap by rank."""
        lines = self._waiting.open_lines(self._blocked if self._may_pass else ())
        return self._waiting.heads(self._team_shares.shares(now), lines)

    def _start(self, job: int, now: int) -> bool:
        allocation = self._placer.claim(self._jobs.request(job), self._allowed_nodes(job, now))
        if allocation is None:
            return False
        self._begin(job, allocation, now)
        return True

    def _allowed_nodes(self, job: int, now: int) -> BoolArray | None:
        return self._calendar.allowed(self._jobs.team[job], self._jobs.limit_ms[job], now)

    def _begin(self, job: int, allocation: JobAllocation, now: int) -> None:
        end = now + self._jobs.remaining_ms[job]
        run = RunningJob(
            job=job,
            allocation=allocation,
            milli=self._jobs.milli(job),
            priority=self._jobs.priority[job],
            since_ms=now,
            end_ms=end,
            expected_ms=now + max(self._jobs.limit_ms[job], 1),
        )
        self._starts_and_stops += 1
        self._running.add(run)
        heapq.heappush(self._events, (end, job))
        if self._quantum_ms and end - now > self._quantum_ms:
            heapq.heappush(self._events, (now + self._quantum_ms, -1))
        if self._is_easy:
            self._expected_ends.add(run.expected_ms, run.job, run.milli)
        self._team_shares.take(self._jobs.team[job], allocation.request, now)
        if self._starts[job] < 0:
            self._starts[job] = now

    def _end(self, job: int, now: int) -> None:
        """End a job, a reservation or a quantum; nothing ends that was postponed."""
        run = self._running.get(job)
        if run is None or run.end_ms != now:
            self._blocked.clear()
            return
        self._stop(run, now)
        self._free.give_back(run.allocation)
        self._ends[job] = now
        if self._late is not None:
            waited_ms = now - self._jobs.submit_ms[job] - self._ran_ms[job]
            self._late.end(job, waited_ms=waited_ms)
        self.rounded += self._jobs.rounded_milli(job) * self._jobs.run_ms[job]

    def _stop(self, run: RunningJob, now: int) -> None:
        """Account for a job until now; its devices are still allocated."""
        self._starts_and_stops += 1
        self._running.remove(run)
        if self._is_easy:
            self._expected_ends.remove(run.expected_ms, run.job, run.milli)
        self._team_shares.give_back(self._jobs.team[run.job], run.allocation.request, now)
        self._ran_ms[run.job] += now - run.since_ms
        self._blocked.clear()

    def _preempt(self, job: int, line: QueueKey, now: int) -> bool:
        """Start a job by preempting jobs that come after it in order; return whether it started."""
        if not self._may_preempt:
            return False
        allocation, preempted = self._allocate_by_preemption(job, now)
        if allocation is None:
            if not self._calendar.ends:  # with a calendar, time alone changes where it may run
                later = self._running.count_after(self._jobs.preemption_rank(job), now)
                self._failed_attempts[line[1]] = (job, self._starts_and_stops, later)
            return False
        # The job leaves first: a preempted job may queue before it, in the same line.
        self._waiting.leave(line, place=0)
        self._begin(job, allocation, now)
        for run in preempted:
            self._requeue(run, now)
        return True

    def _is_still_blocked(self, job: int, now: int) -> bool:
        """Return whether nothing has changed since a job last failed to preempt others.

        Most events change nothing for a job that waits for many devices.
        """
        failed = self._failed_attempts.get(self._jobs.class_of[job])
        if failed is None or failed[0] != job or failed[1] != self._starts_and_stops:
            return False
        return self._running.count_after(self._jobs.preemption_rank(job), now) <= failed[2]

    def _allocate_by_preemption(
        self, job: int, now: int
    ) -> tuple[JobAllocation | None, list[RunningJob]]:
        """Allocate devices of jobs that rank behind a job; return them and the preempted jobs."""
        request, rank = self._jobs.request(job), self._jobs.preemption_rank(job)
        allowed = self._allowed_nodes(job, now)
        free_devices, preempted, freed = self._free, list[RunningJob](), set[int]()
        allocation, free_milli = None, free_devices.free_milli
        freeable = PreemptibleDevices(free_devices, request, is_local=self._is_local)
        for run in self._running.after(rank, now):
            preempted.append(run)
            free_milli += run.milli
            if not freeable.may_fit(run.allocation) or free_milli < rank.milli:
                continue
            for each in freeable.in_reach(preempted):
                if each.job not in freed:
                    free_devices.give_back(each.allocation)
                    freed.add(each.job)
            if (allocation := self._placer.claim(request, allowed)) is not None:
                break
        preempted = [run for run in preempted if run.job in freed]
        back = {run.job for run in reversed(preempted) if free_devices.try_take(run.allocation)}
        return allocation, [run for run in preempted if run.job not in back]

    def _migrate(self, now: int) -> None:
        """Place all running and waiting jobs again, in order; moved and preempted jobs pay."""
        runs = self._running.ranked(now)
        self._free.give_all_back(run.allocation for _, run in runs)
        heads = self._queue_heads(now)
        placements: list[tuple[RunningJob, JobAllocation | None]] = []
        for rank, run in runs:
            if heads and heads[0][0] < rank:
                self._place_waiting(heads, now, before=rank)
            # Checkpoints may have carried a running job past its time limit.
            limit_ms = max(run.expected_ms, run.end_ms) - now
            allocation = self._new_allocation(run.job, limit_ms, now)
            if allocation is not run.allocation:
                placements.append((run, allocation))
        self._place_waiting(heads, now, before=None)
        for run, allocation in placements:
            self._resume(run, allocation, now)

    def _place_waiting(self, heads: list[QueueHead], now: int, *, before: QueueRank | None) -> None:
        """Start the waiting jobs that rank before a running one, or all that are left."""
        while heads and (before is None or heads[0][0] < before):
            (_, _, job), line = heapq.heappop(heads)
            allocation = self._new_allocation(job, self._jobs.limit_ms[job], now)
            if allocation:
                self._begin(job, allocation, now)
                self._next_heads(heads, line, now)

    def _resume(self, run: RunningJob, allocation: JobAllocation | None, now: int) -> None:
        """Continue a running job where it was placed, or let it wait if it was not."""
        if allocation is None:
            self._requeue(run, now)
        elif allocation.has_nodes_of(run.allocation):
            run.allocation = allocation
        else:
            self._move(run, allocation, now)

    def _move(self, run: RunningJob, allocation: JobAllocation, now: int) -> None:
        """Continue a running job on other nodes, after a checkpoint."""
        cost_ms = self._jobs.checkpoint_ms[self._jobs.class_of[run.job]]
        self.preemptions += 1
        self._ran_ms[run.job] += now - run.since_ms
        self.meter.waste(now, cost_ms * run.milli)
        run.allocation, run.since_ms, run.end_ms = allocation, now, run.end_ms + cost_ms
        run.expected_ms = now + max(self._jobs.limit_ms[run.job], 1)
        heapq.heappush(self._events, (run.end_ms, run.job))

    def _new_allocation(self, job: int, limit_ms: int, now: int) -> JobAllocation | None:
        """Allocate devices to a job; None if it does not fit, or its class is known not to."""
        job_class = self._jobs.class_of[job]
        if job_class in self._blocked:
            return None
        calendar = self._calendar
        allowed = calendar.allowed(self._jobs.team[job], limit_ms, now) if calendar.ends else None
        allocation = self._placer.claim(self._jobs.requests[job_class], allowed)
        if allocation is None and allowed is None:
            self._blocked.add(job_class)
        return allocation

    def _requeue(self, run: RunningJob, now: int) -> None:
        """Let a preempted job wait again; its devices are already given back."""
        self._interrupt(run, now)
        self._wait(run.job, now + 1)  # behind the jobs that arrive at this moment

    def _interrupt(self, run: RunningJob, now: int) -> None:
        """Stop a job that has to continue or restart later, and count the wasted time."""
        self.preemptions += 1
        self._stop(run, now)
        if not self._is_restarting:
            cost = self._jobs.checkpoint_ms[self._jobs.class_of[run.job]]
            self._jobs.remaining_ms[run.job] = run.end_ms - now + cost
            self.meter.waste(now, cost * run.milli)
        else:
            self.meter.waste(now, (now - run.since_ms) * run.milli)

    def _backfill(self, head: int, now: int) -> None:
        """Start jobs that by their time limits do not delay the head (EASY backfill)."""

        def start(job: int) -> bool:
            job_class = self._jobs.class_of[job]
            if job_class not in self._blocked and self._start(job, now):
                return True
            self._blocked.add(job_class)
            return False

        shadow_ms, spare_milli = self._expected_ends.shadow(
            self._jobs.milli(head), free_milli=self._free.free_milli, now_ms=now
        )
        self._waiting.start_early(
            self._waiting.open_lines(self._blocked),
            start,
            within_ms=shadow_ms - now,
            spare_milli=spare_milli,
            limits=self._jobs.limit_ms,
            shares=self._team_shares.shares(now),
        )
