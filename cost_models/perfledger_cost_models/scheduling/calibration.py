"""Compares a replay with the schedule that its log recorded.

A replay is calibrated if its waits, its utilization and its makespan are within MAX_ERROR of the
recorded ones. Waits last until a job's first start, in the log and in the replay.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.arrays import FloatArray, IntArray
from perfledger_cost_models.scheduling.day_bootstrap import (
    BootstrapInterval,
    latest_ratio_interval,
    quantile_ratio_interval,
    ratio_interval,
)
from perfledger_cost_models.scheduling.device_time_accounting import milli_by_day
from perfledger_cost_models.scheduling.job_outcomes import JobOutcomes
from perfledger_cost_models.scheduling.policy import SchedulingPolicy
from perfledger_cost_models.scheduling.policy_intervals import log_days
from perfledger_cost_models.units import MS_PER_DAY, MS_PER_SECOND

MAX_ERROR = 0.3  # a replay that is further off predicts no gain
# With fewer recorded starts, the longest waits may be the unknown ones.
MIN_KNOWN_SHARE = 0.9
# A record with a shorter mean wait has no queue: nothing to compare a replay's waits with.
MIN_MEAN_WAIT_S = 1.0
# Jobs that waited so long: the waits of fewer may be chance.
MIN_WAITING_JOBS = 10
MAX_UNPLACEABLE = 0.01  # the recorded cluster ran them all
SHORT_S = 60.0  # added to waits before their ratio, so that a few seconds make no difference


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCalibration:
    """Figures of a replay divided by the recorded ones; None if the record has none."""

    policy: str
    wait_mean: BootstrapInterval | None
    wait_p95: BootstrapInterval | None
    utilization: BootstrapInterval | None
    makespan: BootstrapInterval | None
    waiting_jobs: int  # that waited MIN_MEAN_WAIT_S or more in the record
    unplaceable: float  # share of the jobs that fit no node of the replay
    job_error: float  # mean over jobs of the absolute log of their ratio of waits

    @property
    def is_calibrated(self) -> bool:
        """Return whether all ratios are within MAX_ERROR of one, of nearly all jobs.

        A record without waits, or with those of a few jobs, calibrates nothing.
        """
        is_whole = self.unplaceable <= MAX_UNPLACEABLE
        has_waits = self.wait_mean is not None and self.waiting_jobs >= MIN_WAITING_JOBS
        return is_whole and has_waits and all(map(is_near, self._ratios()))

    @property
    def rank(self) -> tuple[bool, float]:
        """Return the sort key of fits: calibrated ones first, the nearest job by job leading.

        Others are sorted by their worst figure: if most jobs hardly waited, a replay without a
        queue is the nearest job by job, and has none of the recorded waits.
        """
        if self.is_calibrated or self.wait_mean is None:
            return not self.is_calibrated, self.job_error
        figures = (1 - self.unplaceable, *(ratio.middle for ratio in self._ratios()))
        return True, max(abs(math.log(each)) if each > 0 else math.inf for each in figures)

    def _ratios(self) -> Iterator[BootstrapInterval]:
        for ratio in (self.wait_mean, self.wait_p95, self.utilization, self.makespan):
            if ratio is not None:
                yield ratio


def is_near(ratio: BootstrapInterval) -> bool:
    """Return whether a ratio to the record is within MAX_ERROR of one."""
    return abs(ratio.middle - 1) <= MAX_ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedReplay:
    """A policy on a number of equal nodes, and how near its replay is to the record."""

    policy: SchedulingPolicy
    nodes: int
    devices_per_node: int
    calibration: ReplayCalibration


def calibration_of(outcome: JobOutcomes, *, has_ends: bool = True) -> ReplayCalibration | None:
    """Return a replay's figures relative to the record of the same jobs.

    Without `has_ends` their intervals have only middles, in a fraction of the time. Returns None if
    fewer than nine jobs of ten have a recorded start.
    """
    has_wait = outcome.jobs.has_wait
    if has_wait.mean() < MIN_KNOWN_SHARE:
        return None
    jobs = outcome.jobs.take(has_wait)
    days = jobs.submit_ms // MS_PER_DAY
    recorded: FloatArray = jobs.wait_ms / MS_PER_SECOND
    replayed: FloatArray = (outcome.start_ms[has_wait] - jobs.submit_ms) / MS_PER_SECOND
    has_queue = recorded.mean() >= MIN_MEAN_WAIT_S
    return ReplayCalibration(
        policy=outcome.policy.name,
        wait_mean=ratio_interval(_daily(days, replayed), _daily(days, recorded), has_ends=has_ends)
        if has_queue
        else None,
        wait_p95=quantile_ratio_interval(replayed, recorded, days, 0.95, has_ends=has_ends)
        if has_queue and np.quantile(recorded, 0.95) >= MIN_MEAN_WAIT_S
        else None,
        utilization=_utilization(
            outcome, (outcome.jobs.wait_ms >= 0).nonzero()[0], has_ends=has_ends
        ),
        makespan=latest_ratio_interval(
            outcome.end_ms[has_wait],
            jobs.submit_ms + jobs.wait_ms + jobs.run_ms,
            days,
            has_ends=has_ends,
        ),
        waiting_jobs=int(np.count_nonzero(recorded >= MIN_MEAN_WAIT_S)),
        unplaceable=outcome.unplaceable / (len(outcome.jobs) + outcome.unplaceable),
        job_error=float(np.abs(np.log((replayed + SHORT_S) / (recorded + SHORT_S))).mean()),
    )


def _utilization(
    outcome: JobOutcomes, rows: IntArray, *, has_ends: bool
) -> BootstrapInterval | None:
    """Return the ratio of device time in use until the last submission.

    Jobs without a recorded start count in the record with the mean of the others.
    """
    jobs = outcome.jobs.take(rows)
    start = jobs.submit_ms + jobs.wait_ms
    days = outcome.until_ms // MS_PER_DAY + 1
    recorded: FloatArray = milli_by_day(
        start, start + jobs.run_ms, jobs.milli, until_ms=outcome.until_ms
    ).astype(np.float64)
    if not recorded.any():
        return None
    requested_milli_ms = float(np.sum(jobs.run_ms * jobs.milli))
    scale = outcome.requested / requested_milli_ms
    allocated = log_days(outcome.allocated_by_day, days)
    return ratio_interval(allocated, recorded * scale, has_ends=has_ends)


def _daily(days: IntArray, values: FloatArray) -> FloatArray:
    return np.bincount(days, values).astype(np.float64)
