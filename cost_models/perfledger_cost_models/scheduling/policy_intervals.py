"""Computes intervals of a policy's figures by resampling the log's days."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.arrays import FloatArray, IntArray
from perfledger_cost_models.scheduling.day_bootstrap import (
    BootstrapInterval,
    quantile_interval,
    ratio_interval,
)
from perfledger_cost_models.scheduling.job_outcomes import JobOutcomes
from perfledger_cost_models.units import MILLI_MS_PER_HOUR, MS_PER_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyIntervals:
    """Intervals of the figures of a `PolicySummary` over days like those of the log."""

    wait_mean_s: BootstrapInterval
    wait_p50_s: BootstrapInterval
    wait_p95_s: BootstrapInterval
    slowdown_mean: BootstrapInterval
    slowdown_p95: BootstrapInterval
    useful: BootstrapInterval | None  # None if all jobs arrive at one moment
    fragmented: BootstrapInterval | None  # None if no device was ever free
    wanted_idle_hours: BootstrapInterval  # time after the last submission counts on its day
    wasted_hours: BootstrapInterval


def policy_intervals(outcome: JobOutcomes) -> PolicyIntervals:
    """Return the intervals of an outcome's figures; a job counts on the day of its submission."""
    days = outcome.jobs.submit_ms // MS_PER_DAY
    count = outcome.until_ms // MS_PER_DAY + 1
    jobs = _sums(days, np.ones(len(days)), count)
    waits, slowdown = outcome.wait_s, outcome.slowdown
    return PolicyIntervals(
        wait_mean_s=ratio_interval(_sums(days, waits, count), jobs),
        wait_p50_s=quantile_interval(waits, days, 0.5),
        wait_p95_s=quantile_interval(waits, days, 0.95),
        slowdown_mean=ratio_interval(_sums(days, slowdown, count), jobs),
        slowdown_p95=quantile_interval(slowdown, days, 0.95),
        useful=_useful(outcome, count),
        fragmented=_fragmented_interval(outcome, count),
        wanted_idle_hours=_hours(outcome.idle_demand_by_day, count),
        wasted_hours=_hours(outcome.wasted_by_day, count),
    )


def log_days(by_day: Sequence[float], days: int) -> FloatArray:
    """Return the first `days` entries; days after the last submission only empty the queue."""
    padded = np.zeros(days)
    daily = np.array(by_day[:days], dtype=np.float64)
    padded[: len(daily)] = daily
    return padded


def _sums(days: IntArray, values: FloatArray, count: int) -> FloatArray:
    return np.bincount(days, values, count).astype(np.float64)


def _useful(outcome: JobOutcomes, days: int) -> BootstrapInterval | None:
    if not outcome.until_ms:
        return None
    useful_share = (
        1 - (outcome.wasted + outcome.rounded) / outcome.allocated if outcome.allocated else 1.0
    )
    lengths = np.minimum(outcome.until_ms - np.arange(days) * MS_PER_DAY, MS_PER_DAY)
    capacity: FloatArray = lengths.astype(np.float64) * outcome.capacity_milli
    return ratio_interval(log_days(outcome.allocated_by_day, days) * useful_share, capacity)


def _fragmented_interval(outcome: JobOutcomes, days: int) -> BootstrapInterval | None:
    free = log_days(outcome.free_samples_by_day, days)
    return (
        ratio_interval(log_days(outcome.unusable_samples_by_day, days), free)
        if free.any()
        else None
    )


def _hours(by_day: Sequence[int], days: int) -> BootstrapInterval:
    """Return the hours of the log's days; later hours count on the last day."""
    daily = log_days(by_day, days)
    daily[-1] += sum(by_day[days:])
    return ratio_interval(daily * days / MILLI_MS_PER_HOUR, np.ones(days))
