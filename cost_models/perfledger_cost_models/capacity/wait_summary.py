"""Summarises the waits of a job log or of a replay, with intervals over the log's days."""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.capacity.node_shape import busy_milli_ms
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.queueing.server_count import WaitTarget
from perfledger_cost_models.scheduling.calibration import MIN_KNOWN_SHARE
from perfledger_cost_models.scheduling.day_bootstrap import (
    BootstrapInterval,
    quantile_interval,
    ratio_interval,
)
from perfledger_cost_models.scheduling.job_outcomes import JobOutcomes
from perfledger_cost_models.scheduling.policy_comparison import CURVE
from perfledger_cost_models.units import MS_PER_DAY, MS_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSummary:
    """Waits of all jobs, and the share of them that met the target, if there is one.

    A job that fits no node waits for ever, and counts as missing the target.
    """

    jobs: int
    unplaceable: int
    wait_mean_s: BootstrapInterval
    wait_p50_s: BootstrapInterval
    wait_p95_s: BootstrapInterval
    met_share: BootstrapInterval | None
    wait_curve_s: tuple[float, ...]  # at the shares of policy_comparison.CURVE
    utilization: float | None  # of the devices, until the last submission; None if all come at once


def recorded_summary(
    jobs: JobTable, target: WaitTarget | None, *, devices: int
) -> WaitSummary | None:
    """Return the recorded waits of jobs with devices; None with fewer than MIN_KNOWN_SHARE.

    The utilization is that of `devices`.
    """
    ran = jobs.take((jobs.run_ms >= 0) & (jobs.devices > 0))
    waited_jobs = ran.take(ran.has_wait)
    if not len(waited_jobs) or len(waited_jobs) < MIN_KNOWN_SHARE * len(ran):
        return None
    until_ms = int(ran.submit_ms[-1])
    milli_ms = busy_milli_ms(ran.take(ran.wait_ms >= 0), until_ms=until_ms)
    return _summary(
        waited_jobs,
        waited_jobs.wait_ms / MS_PER_SECOND,
        target,
        utilization=_share(milli_ms, devices, until_ms),
    )


def replayed_summary(outcome: JobOutcomes, target: WaitTarget | None) -> WaitSummary:
    """Return the waits of a replay."""
    return _summary(
        outcome.jobs,
        outcome.wait_s,
        target,
        unplaceable=outcome.unplaceable,
        utilization=_share(
            sum(outcome.allocated_by_day), outcome.capacity_milli // WHOLE_DEVICE, outcome.until_ms
        ),
    )


def _summary(
    jobs: JobTable,
    waits_s: FloatArray,
    target: WaitTarget | None,
    *,
    unplaceable: int = 0,
    utilization: float | None,
) -> WaitSummary:
    days = jobs.submit_ms // MS_PER_DAY
    counts = np.bincount(days).astype(np.float64)
    met = None
    if target is not None:
        is_met = (waits_s <= target.wait_s).astype(np.float64)
        scale = len(jobs) / (len(jobs) + unplaceable)
        met_by_day: FloatArray = np.bincount(days, is_met).astype(np.float64) * scale
        met = ratio_interval(met_by_day, counts)
    return WaitSummary(
        jobs=len(jobs),
        unplaceable=unplaceable,
        wait_mean_s=ratio_interval(np.bincount(days, waits_s).astype(np.float64), counts),
        wait_p50_s=quantile_interval(waits_s, days, 0.5),
        wait_p95_s=quantile_interval(waits_s, days, 0.95),
        met_share=met,
        wait_curve_s=tuple(float(wait) for wait in np.quantile(waits_s, CURVE)),
        utilization=utilization,
    )


def _share(milli_ms: int, devices: int, until_ms: int) -> float | None:
    return milli_ms / (devices * WHOLE_DEVICE * until_ms) if until_ms else None
