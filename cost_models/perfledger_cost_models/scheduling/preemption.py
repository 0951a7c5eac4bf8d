"""Orders running jobs by who is preempted first."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from perfledger_cost_models.job_logs.table import WHOLE_DEVICE
from perfledger_cost_models.scheduling.placement.free_devices import (
    FreeDevices,
    JobAllocation,
    ResourceRequest,
)
from perfledger_cost_models.scheduling.placement.whole_devices import WholeDevices
from perfledger_cost_models.scheduling.policy import (
    JobOrder,
    Locality,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.wait_queue import QueueRank
from perfledger_cost_models.units import MS_PER_SECOND

_Place = tuple[int, int, int]


@dataclass(slots=True, kw_only=True)
class RunningJob:
    """A job that is running."""

    job: int
    allocation: JobAllocation
    milli: int  # thousandths of devices allocated to it
    priority: int
    since_ms: int
    end_ms: int
    expected_ms: int  # its end by its time limit


class PreemptionRank(NamedTuple):
    """The remaining run time, devices and priority of a waiting job."""

    left_ms: int
    milli: int
    priority: int


class RunningJobs:
    """The running jobs in sorted groups, within which the last one in order stays the last.

    There is one group, except in order of device time, which changes the rank of jobs with
    different numbers of devices as they run.
    """

    def __init__(self, policy: SchedulingPolicy) -> None:
        self._policy = policy
        self._is_grouped = policy.preemption not in {Preemption.NEVER, Preemption.MIGRATION}
        self._runs: dict[int, RunningJob] = {}
        self._groups: dict[int, list[_Place]] = {}

    def get(self, job: int) -> RunningJob | None:
        """Return the run of a job, None if it is not running."""
        return self._runs.get(job)

    def ranked(self, now_ms: int) -> list[tuple[QueueRank, RunningJob]]:
        """Return all runs with their ranks among waiting jobs, in order."""
        return sorted((self._rank(run, now_ms), run) for run in self._runs.values())

    def _rank(self, run: RunningJob, now_ms: int) -> QueueRank:
        key = -run.priority
        match self._policy.order:
            case JobOrder.REMAINING:
                key = run.end_ms - now_ms
            case JobOrder.SERVICE:
                key = (run.end_ms - now_ms) * run.milli
            case JobOrder.PRIORITY | JobOrder.SUBMISSION | JobOrder.SHORTEST | JobOrder.TIME_SLICE:
                pass  # Only runs that may migrate are ranked; in the last three orders none may.
        return 0.0, key, run.job

    def add(self, run: RunningJob) -> None:
        """Add a job that starts."""
        self._runs[run.job] = run
        if self._is_grouped:
            insort(self._groups.setdefault(self._group(run), []), self._place(run))

    def remove(self, run: RunningJob) -> None:
        """Remove a job that stops."""
        del self._runs[run.job]
        if self._is_grouped:
            group = self._groups[self._group(run)]
            del group[bisect_left(group, self._place(run))]

    def after(self, rank: PreemptionRank, now_ms: int) -> Iterator[RunningJob]:
        """Yield the runs that come after a waiting job, the last in order first."""
        parts = [
            (self._runs[job] for _, _, job in group[: self._stop(group, milli, rank, now_ms)])
            for milli, group in self._groups.items()
        ]
        if self._policy.order is not JobOrder.SERVICE:
            return chain(*parts)
        return merge(*parts, key=lambda run: (now_ms - run.end_ms) * run.milli)

    def count_after(self, rank: PreemptionRank, now_ms: int) -> int:
        """Return how many runs come after a waiting job."""
        groups = self._groups.items()
        return sum(self._stop(group, milli, rank, now_ms) for milli, group in groups)

    def _stop(self, group: list[_Place], milli: int, rank: PreemptionRank, now_ms: int) -> int:
        """Return how many runs of a sorted group, from its first, come after a waiting job."""
        least = rank.priority
        match self._policy.order:
            case JobOrder.REMAINING:
                least = -(now_ms + rank.left_ms)
            case JobOrder.SERVICE:
                if not milli:  # a job without devices has no remaining device time
                    return 0
                least = -(now_ms + rank.left_ms * rank.milli // milli)
            case JobOrder.TIME_SLICE:
                least = now_ms - self._policy.quantum_s * MS_PER_SECOND + 1
            case JobOrder.SUBMISSION | JobOrder.SHORTEST | JobOrder.PRIORITY:
                pass
        return bisect_left(group, least, key=itemgetter(0))

    def _group(self, run: RunningJob) -> int:
        return run.milli if self._policy.order is JobOrder.SERVICE else 0

    def _place(self, run: RunningJob) -> _Place:
        match self._policy.order:
            case JobOrder.REMAINING | JobOrder.SERVICE:
                return -run.end_ms, 0, run.job
            case JobOrder.TIME_SLICE:
                return run.since_ms, 0, run.job
            case JobOrder.SUBMISSION | JobOrder.SHORTEST | JobOrder.PRIORITY:
                return run.priority, -run.since_ms, run.job


class PreemptibleDevices:
    """An upper bound on the whole devices that preemption can free on each node.

    Preempting is slow, and most waiting jobs turn out not to fit anyway.
    """

    def __init__(
        self,
        free_devices: FreeDevices | WholeDevices,
        request: ResourceRequest,
        *,
        locality: Locality,
    ) -> None:
        is_counted = locality is Locality.FEWEST and request.share_milli == WHOLE_DEVICE
        self._per_node = (
            min(request.devices, free_devices.widest) if is_counted else 0
        )  # of one node
        self._least = self._per_node and (request.devices % self._per_node or self._per_node)
        self._free = free_devices.idle_counts()
        enough = free_devices.nodes_with(self._per_node)
        self._nodes = self._per_node and request.devices // self._per_node - enough

    def may_fit(self, allocation: JobAllocation) -> bool:
        """Count an allocation as free; return whether the job may fit then."""
        for part in allocation.nodes if self._per_node else ():
            before = self._free[part.node]
            self._free[part.node] += part.device_count
            if before < self._per_node <= self._free[part.node]:
                self._nodes -= 1
        return self._nodes <= 0

    def is_in_reach(self, allocation: JobAllocation) -> bool:
        """Return whether an allocation has a node that may take part of the job."""
        return any(self._free[part.node] >= self._least for part in allocation.nodes)
