"""Holds the jobs of one pool while they are simulated: requests, times, sort keys."""

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
        self._policy = policy
        self.requests, classes = request_classes(jobs, policy.sharing, has_calendar=has_calendar)
        self.class_of: list[int] = classes.tolist()
        self.class_milli: list[int] = [each.devices * each.share_milli for each in self.requests]
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
        team = 0 if self._policy.share is FairShareRule.NONE else self.team[job]
        return team, self.class_of[job]

    def sort_key(self, job: int, since_ms: int) -> int:
        """Return the sort key of a job that waits since `since_ms`; the smallest is first."""
        match self._policy.order:
            case JobOrder.SUBMISSION:
                return 0
            case JobOrder.SHORTEST:
                return self.run_ms[job]
            case JobOrder.REMAINING:
                return self.remaining_ms[job]
            case JobOrder.SERVICE:
                return self.remaining_ms[job] * self.milli(job)
            case JobOrder.PRIORITY:
                return -self.priority[job]
            case JobOrder.TIME_SLICE:
                return since_ms

    def preemption_rank(self, job: int) -> PreemptionRank:
        """Return the rank that decides which running jobs a waiting job may preempt."""
        return PreemptionRank(self.remaining_ms[job], self.milli(job), self.priority[job])
