"""Holds the simulated times of jobs, and summarises them for comparison."""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.arrays import FloatArray, IntArray
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.scheduling.policy import SchedulingPolicy
from perfledger_cost_models.units import MILLI_MS_PER_HOUR, MS_PER_SECOND

# Shorter jobs would have slowdowns without bound (Feitelson et al., JSSPP 1997): ten seconds.
SLOWDOWN_BOUND_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JobOutcomes:
    """The times of each job under a policy; device time is thousandths of devices times ms.

    The sums are whole numbers: `allocated` is the sum of `requested`, `wasted` and `rounded`.
    """

    policy: SchedulingPolicy
    jobs: JobTable
    start_ms: IntArray  # of its first run
    end_ms: IntArray
    ran_ms: IntArray  # total run time, including repeated work
    unplaceable: int  # jobs that do not fit even on an empty pool
    unknown: int  # jobs of the log without a device or a run time
    capacity_milli: int
    until_ms: int  # the last submission
    allocated: int
    rounded: int  # given to jobs beyond their requested share of a device
    preemptions: int
    allocated_by_day: tuple[int, ...]  # until the last submission
    wasted_by_day: tuple[int, ...]  # by preemption: saving, loading, and repeated work
    free_samples_by_day: tuple[int, ...]  # thousandths of devices, summed over samples
    unusable_samples_by_day: tuple[int, ...]  # of those, the part that typical jobs cannot use
    idle_demand_by_day: tuple[int, ...]  # free while a job waited for it

    @property
    def requested(self) -> int:
        """Return the device time that the jobs requested."""
        return int(np.sum(self.jobs.run_ms * self.jobs.milli))

    @property
    def wasted(self) -> int:
        """Return the device time lost to preemption."""
        return sum(self.wasted_by_day)

    @property
    def wait_s(self) -> FloatArray:
        """Return the time that each job was not running between its submission and its end."""
        return (self.end_ms - self.jobs.submit_ms - self.ran_ms) / MS_PER_SECOND

    @property
    def completion_s(self) -> FloatArray:
        """Return the time from each job's submission to its end."""
        return (self.end_ms - self.jobs.submit_ms) / MS_PER_SECOND

    @property
    def slowdown(self) -> FloatArray:
        """Return each job's bounded slowdown: completion / run time, at least 1."""
        run_s = np.maximum(self.jobs.run_ms / MS_PER_SECOND, SLOWDOWN_BOUND_S)
        return np.maximum(self.completion_s / run_s, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySummary:
    """The figures of one policy; shares refer to all devices from first to last submission."""

    policy: str
    jobs: int
    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    completion_mean_s: float
    slowdown_mean: float
    slowdown_p95: float
    makespan_s: float
    allocated: float | None  # None if all jobs arrive at one moment
    useful: float | None  # allocated, less repeated work and rounding
    fragmented: float | None  # share of free devices that typical jobs cannot use; None: none free
    wanted_idle_hours: float  # device-hours free while jobs waited for as many
    wasted_hours: float
    preemptions: int
    unplaceable: int


def summarise_outcome(outcome: JobOutcomes) -> PolicySummary:
    """Return the figures of an outcome."""
    waits, slowdown = outcome.wait_s, outcome.slowdown
    window = outcome.capacity_milli * outcome.until_ms
    allocated = sum(outcome.allocated_by_day) / window if window else None
    free = sum(outcome.free_samples_by_day)
    lost = (outcome.wasted + outcome.rounded) / outcome.allocated if outcome.allocated else 0.0
    return PolicySummary(
        policy=outcome.policy.name,
        jobs=len(outcome.jobs),
        wait_mean_s=float(waits.mean()),
        wait_p50_s=float(np.quantile(waits, 0.5)),
        wait_p95_s=float(np.quantile(waits, 0.95)),
        completion_mean_s=float(outcome.completion_s.mean()),
        slowdown_mean=float(slowdown.mean()),
        slowdown_p95=float(np.quantile(slowdown, 0.95)),
        makespan_s=float((outcome.end_ms.max() - outcome.jobs.submit_ms.min()) / MS_PER_SECOND),
        allocated=allocated,
        useful=None if allocated is None else allocated * (1 - lost),
        fragmented=sum(outcome.unusable_samples_by_day) / free if free else None,
        wanted_idle_hours=sum(outcome.idle_demand_by_day) / MILLI_MS_PER_HOUR,
        wasted_hours=outcome.wasted / MILLI_MS_PER_HOUR,
        preemptions=outcome.preemptions,
        unplaceable=outcome.unplaceable,
    )
