"""What a simulation did with each job into the figures that policies are compared by."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.jobs import IntArray, Jobs
from perfledger_cost_models.scheduling import Policy

# Shorter jobs would have slowdowns without bound (Feitelson et al., JSSPP 1997): ten seconds.
SLOWDOWN_BOUND_S = 10.0
_MILLI_MS_PER_HOUR = 1000 * 3600 * 1000

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """When each job ran under a policy; device time is thousandths of devices times milliseconds.

    The sums are whole numbers, and `is_conserved` says that none of it came from nowhere.
    """

    policy: Policy
    jobs: Jobs
    start_ms: IntArray  # of its first run
    end_ms: IntArray
    ran_ms: IntArray  # all that it was running, what it had to do again included
    unplaceable: int  # jobs that fit on no pool, even an empty one
    unknown: int  # jobs of the log without a device or a known time
    capacity_milli: int
    until_ms: int  # the last submission
    taken: int
    rounded: int  # by giving a job more of a device than it asked for
    preemptions: int
    taken_by_day: tuple[int, ...]  # until the last submission
    wasted_by_day: tuple[int, ...]  # by preemption: saving, loading, and work that was done again
    free_seen_by_day: tuple[int, ...]  # thousandths of devices, summed over looks
    unusable_seen_by_day: tuple[int, ...]  # of those, what typical jobs could not use
    wanted_by_day: tuple[int, ...]  # free, and asked for by somebody who waited

    @property
    def asked(self) -> int:
        """Return the device time that the jobs needed."""
        return int(np.sum(self.jobs.run_ms * self.jobs.milli))

    @property
    def wasted(self) -> int:
        """Return the device time that preemption cost."""
        return sum(self.wasted_by_day)

    @property
    def is_conserved(self) -> bool:
        """Return whether the device time taken is what was needed, wasted and rounded up."""
        return self.taken == self.asked + self.wasted + self.rounded

    @property
    def wait_s(self) -> FloatArray:
        """Return how long each job was not running between its submission and its end."""
        waits: FloatArray = (self.end_ms - self.jobs.submit_ms - self.ran_ms) / 1000
        return waits

    @property
    def completion_s(self) -> FloatArray:
        """Return the time from each job's submission to its end."""
        times: FloatArray = (self.end_ms - self.jobs.submit_ms) / 1000
        return times

    @property
    def slowdown(self) -> FloatArray:
        """Return each job's bounded slowdown: completion / run time, at least 1."""
        run_s = np.maximum(self.jobs.run_ms / 1000, SLOWDOWN_BOUND_S)
        return np.maximum(self.completion_s / run_s, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The figures of one policy; shares are of all devices from first to last submission."""

    policy: str
    jobs: int
    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    completion_mean_s: float
    slowdown_mean: float
    slowdown_p95: float
    makespan_s: float
    allocated: float | None  # None where all came at one moment
    useful: float | None  # allocated, less what was done again or rounded up
    fragmented: float | None  # of what is free, what typical jobs could not use; None: none is
    wanted_idle_hours: float  # device-hours free while somebody waited for that many
    wasted_hours: float
    preemptions: int
    unplaceable: int


def summary(outcome: Outcome) -> Summary:
    """Return the figures of an outcome."""
    waits, slowdown = outcome.wait_s, outcome.slowdown
    window = outcome.capacity_milli * outcome.until_ms
    allocated = sum(outcome.taken_by_day) / window if window else None
    free = sum(outcome.free_seen_by_day)
    lost = (outcome.wasted + outcome.rounded) / outcome.taken if outcome.taken else 0.0
    return Summary(
        policy=outcome.policy.name,
        jobs=len(outcome.jobs),
        wait_mean_s=float(waits.mean()),
        wait_p50_s=float(np.quantile(waits, 0.5)),
        wait_p95_s=float(np.quantile(waits, 0.95)),
        completion_mean_s=float(outcome.completion_s.mean()),
        slowdown_mean=float(slowdown.mean()),
        slowdown_p95=float(np.quantile(slowdown, 0.95)),
        makespan_s=float((outcome.end_ms.max() - outcome.jobs.submit_ms.min()) / 1000),
        allocated=allocated,
        useful=None if allocated is None else allocated * (1 - lost),
        fragmented=sum(outcome.unusable_seen_by_day) / free if free else None,
        wanted_idle_hours=sum(outcome.wanted_by_day) / _MILLI_MS_PER_HOUR,
        wasted_hours=outcome.wasted / _MILLI_MS_PER_HOUR,
        preemptions=outcome.preemptions,
        unplaceable=outcome.unplaceable,
    )
