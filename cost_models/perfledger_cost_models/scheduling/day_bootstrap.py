"""Computes confidence intervals of a log's figures by resampling its days.

Without `has_ends` an interval has only its middle: a search over many replays needs no more.
Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 1979. The waits of
jobs of one day are correlated, so days are resampled, not jobs.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtrit

from perfledger_cost_models.arrays import FloatArray, IntArray
from perfledger_cost_models.draws import SEED

DRAWS = 2000  # the ends of a 95 % interval then hold to about a twentieth of its width
COVERAGE = 0.95
# With jobs on fewer days, the variation between days is unknown.
MIN_DAYS = 7
# Most blocks of equal length in which a log is resampled: a table of all its days may be too large.
MAX_STRETCHES = 1000
# The log's own quantiles on each side of the middle that a resampled one is rounded to, each 2 %
# farther from it than the one before. The ends are at most 2 % off for any number of jobs.
GRID = 600
NEAREST = 1e-6  # in shares of jobs


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """A figure and its 95 % interval, whose ends are None if there are too few days."""

    middle: float
    low: float | None
    high: float | None


def ratio_interval(
    sums: FloatArray, counts: FloatArray, *, has_ends: bool = True
) -> BootstrapInterval:
    """Return the interval of the ratio of two sums over all days; both have an entry per day."""
    middle = float(sums.sum() / counts.sum())
    days_with_jobs = int(np.count_nonzero(counts))
    if days_with_jobs < MIN_DAYS or not has_ends:
        return BootstrapInterval(middle, None, None)
    days = len(sums)
    starts = np.arange(0, days, _length(days))
    sums, counts = np.add.reduceat(sums, starts), np.add.reduceat(counts, starts)
    times = _times(len(starts))
    resampled = times @ counts
    is_any = resampled.astype(bool)
    return _interval_of(middle, (times @ sums)[is_any] / resampled[is_any], days=days_with_jobs)


def quantile_interval(values: FloatArray, days: IntArray, share: float) -> BootstrapInterval:
    """Return the interval of a quantile of values; `days` has the day of each value."""
    middle = float(np.quantile(values, share))
    days_with_jobs = len(np.unique(days))
    if days_with_jobs < MIN_DAYS:
        return BootstrapInterval(middle, None, None)
    quantiles = _resampled_quantiles(values, days, share)
    return _interval_of(middle, quantiles[np.isfinite(quantiles)], days=days_with_jobs)


def quantile_ratio_interval(
    values: FloatArray,
    references: FloatArray,
    days: IntArray,
    share: float,
    *,
    has_ends: bool = True,
) -> BootstrapInterval:
    """Return the interval of the ratio of two quantiles, of the same jobs.

    The quantile of `references` must be above zero.
    """
    middle = float(np.quantile(values, share) / np.quantile(references, share))
    days_with_jobs = len(np.unique(days))
    if days_with_jobs < MIN_DAYS or not has_ends:
        return BootstrapInterval(middle, None, None)
    above, below = (_resampled_quantiles(each, days, share) for each in (values, references))
    is_any = np.isfinite(above) & (below > 0)
    return _interval_of(middle, above[is_any] / below[is_any], days=days_with_jobs)


def latest_ratio_interval(
    ends: IntArray, references: IntArray, days: IntArray, *, has_ends: bool = True
) -> BootstrapInterval:
    """Return the interval of the ratio of the latest of two columns of ends."""
    middle = float(ends.max() / max(references.max(), 1))
    days_with_jobs = len(np.unique(days))
    if days_with_jobs < MIN_DAYS or not has_ends:
        return BootstrapInterval(middle, None, None)
    count = int(days.max()) + 1
    length = _length(count)
    is_drawn = _times(-(-count // length)) > 0
    latest: list[FloatArray] = []
    for column in (ends, references):
        of_stretch = np.zeros(is_drawn.shape[1])
        np.maximum.at(of_stretch, days // length, column)
        latest.append((is_drawn * of_stretch).max(axis=1))
    is_any = latest[1].astype(bool)
    return _interval_of(middle, latest[0][is_any] / latest[1][is_any], days=days_with_jobs)


def _resampled_quantiles(values: FloatArray, days: IntArray, share: float) -> FloatArray:
    """Return a quantile of each draw of days; NaN where no job was drawn."""
    count = int(days.max()) + 1
    farther = np.geomspace(NEAREST, 1, GRID)
    shares = np.clip(np.concatenate((share - farther, [share], share + farther)), 0, 1)
    grid = np.unique(np.quantile(values, shares))
    length = _length(count)
    stretches = -(-count // length)
    places = (days // length) * len(grid) + np.searchsorted(grid, values)
    table = np.bincount(places, minlength=stretches * len(grid)).reshape(stretches, -1)
    below: FloatArray = _times(stretches) @ np.cumsum(table, axis=1, dtype=np.float64)
    jobs = below[:, -1:]
    positions = (below < share * jobs).sum(axis=1)
    quantiles = grid[np.minimum(positions, len(grid) - 1)]
    return np.where(jobs[:, 0], quantiles, np.nan)


def _length(days: int) -> int:
    """Return the number of days of a block."""
    return -(-days // MAX_STRETCHES)


@lru_cache(maxsize=1)
def _times(stretches: int) -> FloatArray:
    """Return how often each block is drawn, one row per draw."""
    rng = np.random.default_rng(SEED)
    shares = np.full(stretches, 1 / stretches)
    return rng.multinomial(stretches, shares, DRAWS).astype(np.float64)


def _interval_of(middle: float, resampled: FloatArray, *, days: int) -> BootstrapInterval:
    """Return the interval of the resampled values, wider the fewer days there are.

    Resampled days vary less than days do, and their variation is itself uncertain: this is the
    expanded percentile interval (Hesterberg, What Teachers Should Know About the Bootstrap, 2015).
    """
    beyond = float(ndtr(stdtrit(days - 1, (1 - COVERAGE) / 2) * math.sqrt(days / (days - 1))))
    low, high = np.quantile(resampled, [beyond, 1 - beyond])
    return BootstrapInterval(middle, float(low), float(high))
