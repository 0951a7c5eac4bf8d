"""Outcomes of several policies on one log into what each would gain over the first, with intervals.

A gain is device time that stood idle while somebody waited for that much, less the same under the
other policy. The log's work is done sooner by it, and no more of it: no cash comes back. Intervals
are those of drawing the log's days again; a year is 365 mean days.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.day_draws import Interval, ratio_interval
from perfledger_cost_models.jobs import Jobs
from perfledger_cost_models.meter import DAY_MS
from perfledger_cost_models.outcome import Outcome, Summary, summary
from perfledger_cost_models.policy_spread import Spread, each_day, spread
from perfledger_cost_models.quote import Rate

DAYS_A_YEAR = 365
# Of waits, for the curve of how many wait no longer.
CURVE = (*(place / 100 for place in range(100)), 0.995, 0.999, 1.0)
_MILLI_MS_PER_HOUR = 1000 * 3600 * 1000

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRow:
    """What a policy did, and would gain over the first one."""

    figures: Summary
    spread: Spread  # how far the figures are from what other days like these would say
    wait_curve_s: tuple[float, ...]  # at the shares of CURVE
    wait_saved_s: Interval | None  # of the mean job; None for the first policy itself
    hours_gained: Interval | None  # device-hours a year


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the log itself says; None where it does not say enough."""

    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    wait_curve_s: tuple[float, ...]
    allocated: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyComparison:
    """Policies on one log and one cluster; the first is what the others are held against."""

    log: str  # the file's name
    jobs: int
    devices: int
    days: float  # from the first to the last submission
    left_out: tuple[tuple[str, int], ...]  # rows of the log, by reason
    recorded: Recorded | None
    rows: tuple[PolicyRow, ...]
    rate: Rate | None  # of one more device-hour
    notes: tuple[str, ...] = ()  # what of the policies the log is silent about


def policy_rows(outcomes: Sequence[Outcome]) -> tuple[PolicyRow, ...]:
    """Hold each outcome against the first; all must be of one log on one cluster."""
    base = outcomes[0]
    return tuple(
        PolicyRow(
            figures=summary(each),
            spread=spread(each),
            wait_curve_s=_curve(each.wait_s),
            wait_saved_s=None if each is base else _wait_saved(base, each),
            hours_gained=None if each is base else _hours_gained(base, each),
        )
        for each in outcomes
    )


def recorded(jobs: Jobs, *, devices: int) -> Recorded | None:
    """Return how long jobs really waited, and how much of so many devices they held.

    None where the log has no start for nine jobs of ten.
    """
    known = (jobs.wait_ms >= 0) & (jobs.run_ms >= 0) & (jobs.devices > 0)
    if known.sum() < 0.9 * ((jobs.run_ms >= 0) & (jobs.devices > 0)).sum() or not known.any():
        return None
    ran = jobs.taken(known)
    waits = ran.wait_ms / 1000
    start, until = ran.submit_ms + ran.wait_ms, int(ran.submit_ms.max())
    inside = np.clip(np.minimum(start + ran.run_ms, until) - start, 0, None)
    return Recorded(
        wait_mean_s=float(waits.mean()),
        wait_p50_s=float(np.quantile(waits, 0.5)),
        wait_p95_s=float(np.quantile(waits, 0.95)),
        wait_curve_s=_curve(waits),
        allocated=float((inside * ran.milli).sum() / (1000 * devices * until)) if until else None,
    )


def _hours_gained(base: Outcome, other: Outcome) -> Interval:
    days = base.until_ms // DAY_MS + 1
    gained = each_day(base.wanted_by_day, days) - each_day(other.wanted_by_day, days)
    scale = DAYS_A_YEAR / _MILLI_MS_PER_HOUR
    return ratio_interval(gained * scale, np.ones(days))


def _wait_saved(base: Outcome, other: Outcome) -> Interval:
    days = base.jobs.submit_ms // DAY_MS
    count = int(days.max()) + 1
    saved: FloatArray = np.bincount(days, base.wait_s - other.wait_s, count).astype(np.float64)
    return ratio_interval(saved, np.bincount(days, minlength=count).astype(np.float64))


def _curve(waits: FloatArray) -> tuple[float, ...]:
    return tuple(float(wait) for wait in np.quantile(waits, CURVE))
