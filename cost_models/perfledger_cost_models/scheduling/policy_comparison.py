"""Compares policies on one log with the first of them, with intervals.

A gain is the device time that was idle while jobs waited for as much, minus the same under the
other policy. It moves the log's work earlier without adding any, so it saves no cash. Intervals
resample the log's days; a year is 365 mean days.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.time_units import DAYS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.job_logs.csv_rows import DeviceUse, lacks_device_time
from perfledger_cost_models.job_logs.gaps import LogGap
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.scheduling.calibration import (
    FittedReplay,
    ReplayCalibration,
    calibration_of,
)
from perfledger_cost_models.scheduling.day_bootstrap import BootstrapInterval, ratio_interval
from perfledger_cost_models.scheduling.job_outcomes import (
    JobOutcomes,
    PolicySummary,
    summarise_outcome,
)
from perfledger_cost_models.scheduling.policy_intervals import (
    PolicyIntervals,
    log_days,
    policy_intervals,
)
from perfledger_cost_models.units import MILLI_MS_PER_HOUR, MS_PER_DAY, MS_PER_SECOND

# Shares of the curve of waits.
CURVE = (*(index / 100 for index in range(100)), 0.995, 0.999, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyGain:
    """A policy's figures and its gain over the first policy."""

    figures: PolicySummary
    spread: PolicyIntervals  # intervals over days like those of the log
    wait_curve_s: tuple[float, ...]  # at the shares of CURVE
    wait_saved_s: BootstrapInterval | None  # of the mean job; None for the first policy itself
    hours_gained: BootstrapInterval | None  # device-hours a year
    calibration: ReplayCalibration | None  # None if the log records too few starts


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWaiting:
    """The recorded waits and use of a log."""

    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    wait_curve_s: tuple[float, ...]
    allocated: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyComparison:
    """Policies on one log and one cluster; the first is the reference."""

    log: str  # the file's name
    jobs: int
    devices: int
    peak_devices: int | None  # the most in use at one moment of the log; None without starts
    stated_devices: int | None  # of the recorded cluster, by the log's header
    recorded_devices: int  # the denominator of the record's share in use
    days: float  # from the first to the last submission
    left_out: tuple[tuple[str, int], ...]  # rows of the log, by reason
    recorded_waiting: RecordedWaiting | None
    rows: tuple[PolicyGain, ...]
    rate: HourlyRate | None  # of one more device-hour
    notes: tuple[str, ...] = ()  # what the policies need and the log lacks
    inferred_nodes: int | None = None  # of the log, if no nodes were given
    nearest: FittedReplay | None = None  # to the record, if the reference is not calibrated
    cut_jobs: int = 0  # whose wait is unknown because the log may cut their run
    gaps: tuple[LogGap, ...] = ()  # of the log

    @property
    def is_calibrated(self) -> bool:
        """Return whether the reference is near enough to the record for a gain in money."""
        calibration = self.rows[0].calibration
        return calibration is not None and calibration.is_calibrated

    @property
    def lacks_device_time(self) -> bool:
        """Return whether jobs that no figure includes held devices."""
        return lacks_device_time(self.left_out) or bool(self.gaps)

    @property
    def device_use(self) -> DeviceUse:
        """Return how far the shares of devices in use can be relied on."""
        if not lacks_device_time(self.left_out):  # gaps hide hours, but hardly the devices
            return DeviceUse.LOWER_BOUND if self.gaps else DeviceUse.COMPLETE
        return DeviceUse.LOWER_BOUND if self.inferred_nodes is None else DeviceUse.UNKNOWN


def policy_gains(outcomes: Sequence[JobOutcomes]) -> tuple[PolicyGain, ...]:
    """Compare each outcome with the first; all must be of one log on one cluster."""
    base = outcomes[0]
    return tuple(
        PolicyGain(
            figures=summarise_outcome(each),
            spread=policy_intervals(each),
            wait_curve_s=_curve(each.wait_s),
            wait_saved_s=None if each is base else _wait_saved(base, each),
            hours_gained=None if each is base else _hours_gained(base, each),
            calibration=calibration_of(each),
        )
        for each in outcomes
    )


def recorded_waiting(jobs: JobTable, *, devices: int) -> RecordedWaiting | None:
    """Return how long jobs waited in the log, and the share of `devices` that they used.

    Returns None if fewer than nine jobs of ten have a start.
    """
    did_run = (jobs.run_ms >= 0) & (jobs.devices > 0)
    has_wait = did_run & jobs.has_wait
    if has_wait.sum() < 0.9 * did_run.sum() or not has_wait.any():
        return None
    waits = jobs.wait_ms[has_wait] / MS_PER_SECOND
    ran = jobs.take(did_run & (jobs.wait_ms >= 0))
    start, until = ran.submit_ms + ran.wait_ms, int(ran.submit_ms.max())
    inside = np.clip(np.minimum(start + ran.run_ms, until) - start, 0, None)
    return RecordedWaiting(
        wait_mean_s=float(waits.mean()),
        wait_p50_s=float(np.quantile(waits, 0.5)),
        wait_p95_s=float(np.quantile(waits, 0.95)),
        wait_curve_s=_curve(waits),
        allocated=float((inside * ran.milli).sum() / (1000 * devices * until)) if until else None,
    )


def _hours_gained(base: JobOutcomes, alternative: JobOutcomes) -> BootstrapInterval:
    days = base.until_ms // MS_PER_DAY + 1
    gained = log_days(base.idle_demand_by_day, days) - log_days(
        alternative.idle_demand_by_day, days
    )
    scale = DAYS_PER_YEAR / MILLI_MS_PER_HOUR
    return ratio_interval(gained * scale, np.ones(days))


def _wait_saved(base: JobOutcomes, alternative: JobOutcomes) -> BootstrapInterval:
    days = base.jobs.submit_ms // MS_PER_DAY
    saved = np.bincount(days, base.wait_s - alternative.wait_s)
    return ratio_interval(saved.astype(np.float64), np.bincount(days).astype(np.float64))


def _curve(waits: FloatArray) -> tuple[float, ...]:
    return tuple(float(wait) for wait in np.quantile(waits, CURVE))
