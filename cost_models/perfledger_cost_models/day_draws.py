"""Figures of a log's days into the interval of what all its days say, by drawing the days again.

Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 1979: jobs of one
day wait together, so that days are drawn and not jobs.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from perfledger_cost_models.jobs import IntArray

DRAWS = 2000  # the ends of a 95 % interval then hold to about a twentieth of its width
SEED = 2026
COVERAGE = 0.95
# Fewer days on which anything came say nothing of how days differ.
MIN_DAYS = 7
# Of a longer log as many stretches of equal length are drawn: a table of all days would not fit.
MAX_STRETCHES = 1000
# A drawn quantile is rounded to one of so many of the log's own to each side of the middle, each
# 2 % farther from it than the one before: with any number of jobs the ends are 2 % off at most.
GRID = 600
NEAREST = 1e-6  # in shares of jobs

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with the ends of its 95 % interval; None where there are too few days for one."""

    middle: float
    low: float | None
    high: float | None


def ratio_interval(sums: FloatArray, counts: FloatArray) -> Interval:
    """Return the ratio of two sums over all days; both have an entry a day."""
    middle = float(sums.sum() / counts.sum())
    told = int(np.count_nonzero(counts))
    if told < MIN_DAYS:
        return Interval(middle, None, None)
    days = len(sums)
    starts = np.arange(0, days, _length(days))
    sums, counts = np.add.reduceat(sums, starts), np.add.reduceat(counts, starts)
    times = _times(len(starts))
    drawn = times @ counts
    is_any = drawn > 0
    return _between(middle, (times @ sums)[is_any] / drawn[is_any], days=told)


def quantile_interval(values: FloatArray, days: IntArray, share: float) -> Interval:
    """Return a quantile of values, each of which is of one of the days."""
    middle = float(np.quantile(values, share))
    told = len(np.unique(days))
    if told < MIN_DAYS:
        return Interval(middle, None, None)
    count = int(days.max()) + 1
    farther = np.geomspace(NEAREST, 1, GRID)
    shares = np.clip(np.concatenate((share - farther, [share], share + farther)), 0, 1)
    grid = np.unique(np.quantile(values, shares))
    length = _length(count)
    stretches = -(-count // length)
    places = (days // length) * len(grid) + np.searchsorted(grid, values)
    table = np.bincount(places, minlength=stretches * len(grid)).reshape(stretches, -1)
    below: FloatArray = np.cumsum(_times(stretches) @ table.astype(np.float64), axis=1)
    below = below[below[:, -1] > 0]
    found = (below < share * below[:, -1:]).sum(axis=1)
    return _between(middle, grid[np.minimum(found, len(grid) - 1)], days=told)


def _length(days: int) -> int:
    """Return how many days are drawn together."""
    return -(-days // MAX_STRETCHES)


@lru_cache(maxsize=1)
def _times(stretches: int) -> FloatArray:
    """Return how often each stretch is drawn, a row a draw."""
    rng = np.random.default_rng(SEED)
    shares = np.full(stretches, 1 / stretches)
    return rng.multinomial(stretches, shares, DRAWS).astype(np.float64)


def _between(middle: float, drawn: FloatArray, *, days: int) -> Interval:
    """Return the ends of what was drawn, farther out the fewer days there were.

    Days drawn again spread less than days do, and their own spread is not sure either: the expanded
    percentile interval of Hesterberg, "What Teachers Should Know About the Bootstrap", 2015.
    """
    beyond = float(ndtr(stdtrit(days - 1, (1 - COVERAGE) / 2) * math.sqrt(days / (days - 1))))
    low, high = np.quantile(drawn, [beyond, 1 - beyond])
    return Interval(middle, float(low), float(high))
