"""Fits stepped levels to rows under a bounded loss, which limits the effect of distant values.

The fit is a Potts functional: of all staircases the one of least cost, where every step costs a
penalty, found exactly by dynamic programming over a grid of levels (Storath & Weinmann 2014). The
bounded loss is that of Geman & McClure (1987).
"""

from functools import cache
from itertools import pairwise

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.segmentation.compiled_loops import compile_loop
from perfledger_baselines.history.segmentation.noise import SMALLEST_SPREAD, median_of_five

# The largest loss of an observation. At 100 commits two penalties equal 4.3 of it, so that an
# excursion of up to four observations is never two steps.
LARGEST_LOSS = 3.5

# Scale of the loss over the median absolute difference of neighbours. That difference is two scales
# in Cauchy noise, and in Gaussian noise 1.5 of the scales that fit it best.
SCALE_OF_DIFFERENCE = 0.6

# Levels of the grid: evenly spaced quantiles of the running median.
GRID_SIZE = 32

# Observations at the end whose loss has no bound, and the extra cost of a step there. The last
# observations, which may or may not stay: their loss has no bound, because three of them must be
# able to form a step, and a step so close to an end costs more.
END, END_EXTRA = 6, 1.0


def fit_levels(levels: FloatArray, *, penalty: float) -> FloatArray:
    """Return (R, N): the median of each observation's stretch, N of at least FEWEST."""
    count = int(levels.shape[1])
    differences = np.sort(np.abs(np.diff(levels, axis=1)), axis=1)[:, (count - 1) // 2]
    scales = np.maximum(SCALE_OF_DIFFERENCE * differences, SMALLEST_SPREAD)
    grids = np.sort(median_of_five(levels), axis=1)[:, _grid_ranks(count)]
    penalties = step_penalties(count, penalty)
    fitted: FloatArray = np.empty_like(levels)
    for number, (row, grid, scale) in enumerate(zip(levels, grids, scales.tolist(), strict=True)):
        path = cheapest_path(_losses(row, grid, scale=scale), penalties)
        bounds = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist(), count]
        for first, stop in pairwise(bounds):
            ordered = np.sort(row[first:stop])  # an eighth of the time of numpy's median
            middle, odd = divmod(stop - first, 2)
            fitted[number, first:stop] = (ordered[middle + odd - 1] + ordered[middle]) / 2
    return fitted


def step_penalties(count: int, penalty: float) -> FloatArray:
    """Return (N,): the cost of a step before each of `count` observations, higher near an end."""
    penalties = np.full(count, penalty)
    penalties[: END + 1] += END_EXTRA  # the first observation has no step before it
    penalties[count - END :] += END_EXTRA
    return penalties


@compile_loop
def cheapest_path(costs: FloatArray, penalties: FloatArray) -> IntArray:
    """Return the level of each of N observations, of G levels, at the least of (N, G) costs.

    A step to another level before an observation costs its penalty.
    """
    count, size = costs.shape
    total = costs[0].copy()
    came_from = np.zeros(count, dtype=np.int64)
    has_stepped = np.zeros((count, size), dtype=np.bool_)
    for index in range(1, count):
        best = total.argmin()
        came_from[index] = best
        stepped = total[best] + penalties[index]
        has_stepped[index] = total > stepped
        total = np.minimum(total, stepped) + costs[index]
    path = np.empty(count, dtype=np.int64)
    at = total.argmin()
    for index in range(count - 1, -1, -1):
        path[index] = at
        if has_stepped[index, at]:
            at = came_from[index]
    return path


@cache
def _grid_ranks(count: int) -> IntArray:
    return np.rint(np.linspace(0, count - 1, min(GRID_SIZE, count))).astype(np.int64)


def _losses(row: FloatArray, grid: FloatArray, *, scale: float) -> FloatArray:
    squares: FloatArray = ((row[:, None] - grid) / scale) ** 2
    losses = LARGEST_LOSS * squares / (LARGEST_LOSS + squares)
    losses[-END:] = np.log1p(squares[-END:])
    return losses
