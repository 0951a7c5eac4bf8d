"""Orders running jobs by who is preempted first."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import chain
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
        self._is_by_end = policy.order is JobOrder.REMAINING
        self._is_grouped = policy.preemption not in {Preemption.NEVER, Preemption.MIGRATION}
        self._is_by_service = policy.order is JobOrder.SERVICE
        self._place = _place_function(policy.order)
        self._least = _least_function(policy.order, policy.quantum_s * MS_PER_SECOND)
        self._runs: dict[int, RunningJob] = {}
        self._groups: dict[int, list[_Place]] = {}

    def get(self, job: int) -> RunningJob | None:
        """Return the run of a job, None if it is not running."""
        return self._runs.get(job)

    def ranked(self, now_ms: int) -> list[tuple[QueueRank, RunningJob]]:
        """Return all runs with their ranks among waiting jobs, in order."""
        # Only runs that may migrate are ranked; by submission, run time or time slice none may.
        if self._is_by_end:
            keys = ((run.end_ms - now_ms, run) for run in self._runs.values())
        elif self._is_by_service:
            keys = (((run.end_ms - now_ms) * run.milli, run) for run in self._runs.values())
        else:
            keys = ((-run.priority, run) for run in self._runs.values())
        return sorted(((0.0, key, run.job), run) for key, run in keys)

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
        if not self._is_by_service:
            return chain(*parts)
        return merge(*parts, key=lambda run: (now_ms - run.end_ms) * run.milli)

    def count_after(self, rank: PreemptionRank, now_ms: int) -> int:
        """Return how many runs come after a waiting job."""
        count = 0
        for milli, group in self._groups.items():
            count += self._stop(group, milli, rank, now_ms)
        return count

    def _stop(self, group: list[_Place], milli: int, rank: PreemptionRank, now_ms: int) -> int:
        """Return how many runs of a sorted group, from its first, come after a waiting job."""
        if self._is_by_service and not milli:  # a job without devices has no remaining device time
            return 0
        return bisect_left(group, (self._least(rank, milli, now_ms),))  # before all that begin so

    def _group(self, run: RunningJob) -> int:
        return run.milli if self._is_by_service else 0


def _place_function(order: JobOrder) -> Callable[[RunningJob], _Place]:
    """Return what gives a run's place among those of its group."""
    match order:
        case JobOrder.REMAINING | JobOrder.SERVICE:
            return lambda run: (-run.end_ms, 0, run.job)
        case JobOrder.TIME_SLICE:
            return lambda run: (run.since_ms, 0, run.job)
        case JobOrder.SUBMISSION | JobOrder.SHORTEST | JobOrder.PRIORITY:
            return lambda run: (run.priority, -run.since_ms, run.job)


def _least_function(order: JobOrder, quantum_ms: int) -> Callable[[PreemptionRank, int, int], int]:
    """Return what gives the first number of places from which on runs do not yield to a job.

    Its arguments are the rank of the job, the thousandths of devices of the group, and the time.
    """
    match order:
        case JobOrder.REMAINING:
            return lambda rank, _milli, now_ms: -(now_ms + rank.left_ms)
        case JobOrder.SERVICE:
            return lambda rank, milli, now_ms: -(now_ms + rank.left_ms * rank.milli // milli)
        case JobOrder.TIME_SLICE:
            return lambda _rank, _milli, now_ms: now_ms - quantum_ms + 1
        case JobOrder.SUBMISSION | JobOrder.SHORTEST | JobOrder.PRIORITY:
            return lambda rank, _milli, _now_ms: rank.priority


class PreemptibleDevices:
    """An upper bound on the whole devices that preemption can free on each node.

    Preempting is slow, and most waiting jobs turn out not to fit anyway.
    """

    def __init__(
        self,
        free_devices: FreeDevices | WholeDevices,
        request: ResourceRequest,
        *,
        is_local: bool,
    ) -> None:
        is_counted = is_local and request.share_milli == WHOLE_DEVICE
        self._per_node = (
            min(request.devices, free_devices.widest) if is_counted else 0
        )  # of one node
        self._least = self._per_node and (request.devices % self._per_node or self._per_node)
        self._free = free_devices.idle_counts()
        enough = free_devices.nodes_with(self._per_node)
        self._nodes = self._per_node and request.devices // self._per_node - enough

    def may_fit(self, allocation: JobAllocation) -> bool:
        """Count an allocation as free; return whether the job may fit then."""
        for node, devices, _, _, bits in allocation.nodes if self._per_node else ():
            before = self._free[node]
            self._free[node] = after = before + (bits.bit_count() or len(devices))
            if before < self._per_node <= after:
                self._nodes -= 1
        return self._nodes <= 0

    def in_reach(self, runs: Iterable[RunningJob]) -> list[RunningJob]:
        """Return the runs with a node that may take part of the job."""
        free, least = self._free, self._least
        reached: list[RunningJob] = []
        for run in runs:
            for part in run.allocation.nodes:
                if free[part.node] >= least:
                    reached.append(run)
                    break
        return reached
