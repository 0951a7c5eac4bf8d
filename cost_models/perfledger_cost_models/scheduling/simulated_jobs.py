"""Holds the jobs of one pool while they are simulated: requests, times, sort keys."""

from collections.abc import Callable

from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.scheduling.placement.free_devices import (
    ResourceRequest,
    request_classes,
)
from perfledger_cost_models.scheduling.policy import FairShareRule, JobOrder, SchedulingPolicy
from perfledger_cost_models.scheduling.preemption import PreemptionRank
from perfledger_cost_models.scheduling.wait_queue import QueueKey


class SimulatedJobs:
    """The jobs of one pool, by row of their table; only `remaining_ms` changes.

    Jobs of one class have the same request, and wait in one line.
    """

    def __init__(self, jobs: JobTable, policy: SchedulingPolicy, *, has_calendar: bool) -> None:
        self._are_teams_equal = policy.share is FairShareRule.NONE
        # Of a job and the time since when it waits: the job with the smallest key is first.
        self.sort_key = self._sort_key_function(policy.order)
        self.requests, classes = request_classes(jobs, policy.sharing, has_calendar=has_calendar)
        self.class_of: list[int] = classes.tolist()
        # By class: thousandths of devices, and milliseconds to save and load.
        self.class_milli: list[int] = [each.devices * each.share_milli for each in self.requests]
        self.checkpoint_ms = [policy.checkpoint_ms(each.devices) for each in self.requests]
        self.submit_ms: list[int] = jobs.submit_ms.tolist()
        self.run_ms: list[int] = jobs.run_ms.tolist()
        self.remaining_ms: list[int] = jobs.run_ms.tolist()
        self.limit_ms: list[int] = jobs.limit_ms.tolist()
        self.priority: list[int] = jobs.priority.tolist()
        self.team: list[int] = jobs.team.codes.tolist()
        self._requested_milli: list[int] = jobs.milli.tolist()

    def request(self, job: int) -> ResourceRequest:
        """Return what a job asks for."""
        return self.requests[self.class_of[job]]

    def milli(self, job: int) -> int:
        """Return the thousandths of devices that a job gets."""
        return self.class_milli[self.class_of[job]]

    def rounded_milli(self, job: int) -> int:
        """Return the thousandths of devices that a job gets beyond its request."""
        return self.milli(job) - self._requested_milli[job]

    def queue_key(self, job: int) -> QueueKey:
        """Return the line in which a job waits."""
        team = 0 if self._are_teams_equal else self.team[job]
        return team, self.class_of[job]

    def _sort_key_function(self, order: JobOrder) -> Callable[[int, int], int]:
        match order:
            case JobOrder.SUBMISSION:
                return lambda _job, _since_ms: 0
            case JobOrder.SHORTEST:
                return lambda job, _since_ms: self.run_ms[job]
            case JobOrder.REMAINING:
                return lambda job, _since_ms: self.remaining_ms[job]
            case JobOrder.SERVICE:
                return lambda job, _since_ms: self.remaining_ms[job] * self.milli(job)
            case JobOrder.PRIORITY:
                return lambda job, _since_ms: -self.priority[job]
            case JobOrder.TIME_SLICE:
                return lambda _job, since_ms: since_ms

    def preemption_rank(self, job: int) -> PreemptionRank:
        """Return the rank that decides which running jobs a waiting job may preempt."""
        return PreemptionRank(self.remaining_ms[job], self.milli(job), self.priority[job])
