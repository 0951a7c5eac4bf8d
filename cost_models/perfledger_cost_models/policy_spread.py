"""A policy's outcome into the intervals of its own figures, by drawing the log's days again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.day_draws import (
    FloatArray,
    Interval,
    quantile_interval,
    ratio_interval,
)
from perfledger_cost_models.jobs import IntArray
from perfledger_cost_models.meter import DAY_MS
from perfledger_cost_models.outcome import Outcome

_MILLI_MS_PER_HOUR = 1000 * 3600 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The figures of a `Summary` that days like these may change, each with its interval."""

    wait_mean_s: Interval
    wait_p50_s: Interval
    wait_p95_s: Interval
    slowdown_mean: Interval
    slowdown_p95: Interval
    useful: Interval | None  # None where all came at one moment
    fragmented: Interval | None  # None where nothing was ever free
    wanted_idle_hours: Interval  # what follows the last submission counts on its day
    wasted_hours: Interval


def spread(outcome: Outcome) -> Spread:
    """Return the intervals of an outcome's figures; a job counts on the day that it came."""
    days = outcome.jobs.submit_ms // DAY_MS
    count = outcome.until_ms // DAY_MS + 1
    jobs = _sums(days, np.ones(len(days)), count)
    waits, slowdown = outcome.wait_s, outcome.slowdown
    return Spread(
        wait_mean_s=ratio_interval(_sums(days, waits, count), jobs),
        wait_p50_s=quantile_interval(waits, days, 0.5),
        wait_p95_s=quantile_interval(waits, days, 0.95),
        slowdown_mean=ratio_interval(_sums(days, slowdown, count), jobs),
        slowdown_p95=quantile_interval(slowdown, days, 0.95),
        useful=_useful(outcome, count),
        fragmented=_fragmented(outcome, count),
        wanted_idle_hours=_hours(outcome.wanted_by_day, count),
        wasted_hours=_hours(outcome.wasted_by_day, count),
    )


def each_day(by_day: Sequence[float], days: int) -> FloatArray:
    """Return the log's days; those after the last submission only empty the queue."""
    kept = np.zeros(days)
    found = np.array(by_day[:days], dtype=np.float64)
    kept[: len(found)] = found
    return kept


def _sums(days: IntArray, values: FloatArray, count: int) -> FloatArray:
    sums: FloatArray = np.bincount(days, values, count).astype(np.float64)
    return sums


def _useful(outcome: Outcome, days: int) -> Interval | None:
    if not outcome.until_ms:
        return None
    kept = 1 - (outcome.wasted + outcome.rounded) / outcome.taken if outcome.taken else 1.0
    lengths = np.minimum(outcome.until_ms - np.arange(days) * DAY_MS, DAY_MS)
    capacity: FloatArray = lengths.astype(np.float64) * outcome.capacity_milli
    return ratio_interval(each_day(outcome.taken_by_day, days) * kept, capacity)


def _fragmented(outcome: Outcome, days: int) -> Interval | None:
    free = each_day(outcome.free_seen_by_day, days)
    return (
        ratio_interval(each_day(outcome.unusable_seen_by_day, days), free) if free.any() else None
    )


def _hours(by_day: Sequence[int], days: int) -> Interval:
    """Return the hours of as many days as the log has; what follows counts on the last one."""
    kept = each_day(by_day, days)
    kept[-1] += sum(by_day[days:])
    return ratio_interval(kept * days / _MILLI_MS_PER_HOUR, np.ones(days))
