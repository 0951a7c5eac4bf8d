"""Computes arrival rate, service time and variation of a job log to which formulas apply."""

from dataclasses import dataclass

import numpy as np

from perfledger.rounding import digits, integer
from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobLogError, JobTable
from perfledger_cost_models.units import MS_PER_HOUR, MS_PER_SECOND

MIN_JOBS = 30  # with fewer a coefficient of variation is meaningless
# The counts of random arrivals have a variance equal to their mean. Within these bounds of that
# ratio by hour, and of the squared variation of gaps, the formulas' mean wait is off by about that
# much.
MIN_DISPERSION, MAX_DISPERSION = 0.7, 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalStatistics:
    """The inputs of the queueing formulas; a customer is a job of one device."""

    jobs: int
    arrivals_per_s: float
    arrival_cv2: float  # squared coefficient of variation
    service_s: float
    service_cv2: float


def formula_obstacle(jobs: JobTable) -> str:
    """Return why queueing formulas do not hold for a log; "" if they do.

    They hold for jobs of one device whose arrivals are nearly random: not for gangs, which wait for
    several devices at once, nor for arrivals with busy hours.
    """
    ran = _ran(jobs)
    if len(ran) < MIN_JOBS:
        return f"the log has fewer than {MIN_JOBS} jobs that ran"
    if (ran.devices > 1).any():
        percent = 100 * float((ran.devices > 1).mean())
        return f"{integer(percent)} % of the jobs take several devices, up to {ran.devices.max()}"
    if (ran.share_milli != WHOLE_DEVICE).any():
        return "jobs take parts of a device"
    hours: IntArray = ran.submit_ms // MS_PER_HOUR
    counts = np.bincount(hours)[:-1]  # the last hour is incomplete
    if len(counts) < MIN_JOBS or not counts.any():
        return f"the log has fewer than {MIN_JOBS} hours"
    dispersion = float(counts.var() / counts.mean())
    gaps = np.diff(ran.submit_ms)
    for name, value in (
        ("the number of arrivals by hour", dispersion),
        ("the time between arrivals", float(gaps.var()) / float(gaps.mean()) ** 2),
    ):
        if not MIN_DISPERSION <= value <= MAX_DISPERSION:
            return f"{name} varies {digits(value, 3)} times as much as at random arrivals"
    return ""


def arrivals_of(jobs: JobTable) -> ArrivalStatistics:
    """Return the rates and variations of a log. Raises JobLogError if formulas do not hold."""
    obstacle = formula_obstacle(jobs)
    if obstacle:
        msg = f"no queueing formula: {obstacle}"
        raise JobLogError(msg)
    ran = _ran(jobs)
    gaps = np.diff(ran.submit_ms)
    run_s = ran.run_ms / MS_PER_SECOND
    return ArrivalStatistics(
        jobs=len(ran),
        arrivals_per_s=1000 / float(gaps.mean()),
        arrival_cv2=float(gaps.var()) / float(gaps.mean()) ** 2,
        service_s=float(run_s.mean()),
        service_cv2=float(run_s.var()) / float(run_s.mean()) ** 2,
    )


def _ran(jobs: JobTable) -> JobTable:
    return jobs.take((jobs.run_ms > 0) & (jobs.devices > 0))
