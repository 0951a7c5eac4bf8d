"""Fits stepped levels to rows under a bounded loss, which limits the effect of distant values.

The fit is a Potts functional: of all staircases the one of least cost, where every step costs a
penalty, found exactly by dynamic programming over a grid of levels (Storath & Weinmann 2014). The
bounded loss is that of Geman & McClure (1987).
"""

from functools import cache
from itertools import pairwise

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.segmentation.compiled_loops import COMPILER, compile_loop
from perfledger_baselines.history.segmentation.noise import MIN_SPREAD, median_of_five

# The largest loss of an observation. At 100 commits two penalties equal 4.3 of it, so that an
# excursion of up to four observations is never two steps.
MAX_LOSS = 3.5

# Scale of the loss over the median absolute difference of neighbours. That difference is two scales
# in Cauchy noise, and in Gaussian noise 1.5 of the scales that fit it best.
SCALE_OF_DIFFERENCE = 0.6

# Levels of the grid: evenly spaced quantiles of the running median.
GRID_SIZE = 32

# Observations at the end whose loss has no bound, because three of them must be able to form a
# step, and the extra cost of a step there. So close to an end it may not stay.
END, END_EXTRA = 6, 1.0

# Parts of one that costs are rounded to. Sums of whole numbers are exact, and therefore the same in
# any order: a series of nine million observations has none that a float cannot hold.
UNITS = 2.0**28

# Observations that are fitted together. 256 are the fastest of 16 to 512 for long series.
CHUNK = 256

# Fewest rows that are fitted together.
MIN_TOGETHER = 4

# Observations whose costs are computed at once.
COSTS_AT_ONCE = 16


def fit_levels(levels: FloatArray, *, penalty: float) -> FloatArray:
    """Return (R, N): the median of each observation's stretch, N of at least MIN_STRETCH."""
    count = int(levels.shape[1])
    differences = np.abs(levels[:, 1:] - levels[:, :-1])
    differences.partition((count - 1) // 2, axis=1)
    scales = np.maximum(SCALE_OF_DIFFERENCE * differences[:, (count - 1) // 2], MIN_SPREAD)
    grids = np.sort(median_of_five(levels), axis=1)[:, _grid_ranks(count)]
    paths = _fitted_paths(levels, grids, scales, step_penalties(count, penalty))
    fitted: FloatArray = np.empty_like(levels)
    rows, places = np.nonzero(paths[:, 1:] != paths[:, :-1])
    bounds = np.searchsorted(rows, np.arange(len(levels) + 1)).tolist()
    steps = (places + 1).tolist()
    for number, (begin, end) in enumerate(pairwise(bounds)):
        row, fit = levels[number], fitted[number]
        for first, stop in pairwise([0, *steps[begin:end], count]):
            ordered = row[first:stop].copy()  # sorted: an eighth of the time of numpy's median
            ordered.sort()
            middle, odd = divmod(stop - first, 2)
            fit[first:stop] = (ordered[middle + odd - 1] + ordered[middle]) / 2
    return fitted


def step_penalties(count: int, penalty: float) -> FloatArray:
    """Return (N,): the cost of a step before each of `count` observations, higher near an end."""
    penalties = np.full(count, penalty)
    penalties[: END + 1] += END_EXTRA  # the first observation has no step before it
    penalties[count - END :] += END_EXTRA
    return penalties


def cheapest_path(costs: FloatArray, penalties: FloatArray) -> IntArray:
    """Return the level of each of N observations, of G levels, at the least of (N, G) costs.

    A step to another level before an observation costs its penalty.
    """
    exact, steps = _in_units(costs), _in_units(penalties)
    return path_by_rounds(exact, steps) if COMPILER is None else path_in_order(exact, steps)


def _fitted_paths(
    levels: FloatArray, grids: FloatArray, scales: FloatArray, penalties: FloatArray
) -> IntArray:
    """Return (R, N): the level of each observation, of its row's (R, G) grid of levels."""
    steps = _in_units(penalties)
    return (
        paths_without_compiler(levels, grids, scales, steps)
        if COMPILER is None
        else paths_in_order(
            levels, grids, scales, steps, _costs(levels[:, -END:], grids, scales, ends=END)
        )
    )


@compile_loop
def paths_in_order(
    levels: FloatArray,
    grids: FloatArray,
    scales: FloatArray,
    penalties: FloatArray,
    ends: FloatArray,
) -> IntArray:
    """Return the cheapest path of each row, with a bounded loss before the `ends`, (E, G, R)."""
    rows, count = levels.shape
    size, bounded = grids.shape[1], count - len(ends)
    paths = np.empty((rows, count), dtype=np.int64)
    costs = np.empty((count, size))
    for row in range(rows):
        costs[bounded:] = ends[:, :, row]
        for index in range(bounded):
            for level in range(size):
                off = (levels[row, index] - grids[row, level]) / scales[row]
                square = off * off
                costs[index, level] = np.rint(MAX_LOSS * square / (MAX_LOSS + square) * UNITS)
        paths[row] = path_in_order(costs, penalties)
    return paths


@compile_loop
def path_in_order(costs: FloatArray, penalties: FloatArray) -> IntArray:
    """Return the cheapest path, found observation by observation."""
    count, size = costs.shape
    total = costs[0].copy()
    came_from = np.zeros(count, dtype=np.int64)
    has_stepped = np.zeros((count, size), dtype=np.bool_)
    best = total.argmin()
    for index in range(1, count):
        came_from[index] = best
        stepped = total[best] + penalties[index]
        best = 0
        for level in range(size):  # one pass, which is three times as fast as whole arrays
            has_stepped[index, level] = total[level] > stepped
            total[level] = min(total[level], stepped) + costs[index, level]
            if total[level] < total[best]:
                best = level
    path = np.empty(count, dtype=np.int64)
    at = best
    for index in range(count - 1, -1, -1):
        path[index] = at
        if has_stepped[index, at]:
            at = came_from[index]
    return path


def paths_without_compiler(
    levels: FloatArray, grids: FloatArray, scales: FloatArray, penalties: FloatArray
) -> IntArray:
    """Return (R, N): the cheapest path of each row, by whichever way is faster for so many rows."""
    if len(levels) >= MIN_TOGETHER:
        return paths_together(levels, grids, scales, penalties)
    costs = _costs(levels, grids, scales, ends=END)
    return np.stack([path_by_rounds(costs[:, :, row], penalties) for row in range(len(levels))])


def paths_together(
    levels: FloatArray, grids: FloatArray, scales: FloatArray, penalties: FloatArray
) -> IntArray:
    """Return (R, N): the cheapest path of each row, all rows going on by an observation at a time.

    A step of many rows takes numpy little more time than one of a single row.
    """
    rows, count = levels.shape
    totals = np.empty((count, grids.shape[1], rows))  # as in `path_by_rounds`
    entries = np.empty((count, rows))
    entries[0] = np.inf
    before, index = np.zeros((grids.shape[1], rows)), 0
    for first in range(0, count, COSTS_AT_ONCE):
        part = levels[:, first : first + COSTS_AT_ONCE]
        ends = first + int(part.shape[1]) - max(first, count - END)
        for costs in _costs(part, grids, scales, ends=ends):
            total = totals[index]
            if index:
                entry = entries[index]
                np.minimum.reduce(before, axis=0, out=entry)
                entry += penalties[index]
                np.minimum(before, entry, out=total)
                total += costs
            else:
                total[:] = costs
            before, index = total, index + 1
    return np.stack([_backtrack(totals[:, :, row].T, entries[:, row]) for row in range(rows)])


def path_by_rounds(costs: FloatArray, penalties: FloatArray) -> IntArray:
    """Return the cheapest path, which is that of `path_in_order` for costs that are whole numbers.

    Each round finds the cheapest paths with one step more in a chunk of observations, until none
    becomes cheaper. Few rounds of long vectors take numpy a fraction of the time of a short vector
    for each observation.
    """
    costs = np.ascontiguousarray(costs.T)
    size, count = costs.shape
    totals = np.empty_like(costs)  # of the cheapest path up to each observation that ends there
    entries = penalties.copy()  # the same, with a step before it
    entries[0] = np.inf
    before = np.zeros((size, 1))
    for first in range(0, count, CHUNK):
        chunk = slice(first, first + CHUNK)
        if first:
            entries[first] += before.min()
        before = _fill_chunk(costs[:, chunk], totals[:, chunk], entries[chunk], before)
    return _backtrack(totals, entries)


def _fill_chunk(
    costs: FloatArray, totals: FloatArray, entries: FloatArray, before: FloatArray
) -> FloatArray:
    """Fill a chunk's totals and entries, at first penalties; return its last totals, (G, 1)."""
    sums = np.cumsum(costs, axis=1)
    earlier = sums - costs
    penalties = entries[1:].copy()
    least = np.minimum(before, entries[0])  # of a path at each level, less the costs of the chunk
    np.add(least, sums, out=totals)
    entries[1:] = totals[:, :-1].min(axis=0) + penalties
    start = 1
    while start < len(entries):  # everything before is final
        entered = np.minimum.accumulate(entries[start:] - earlier[:, start:], axis=1)
        np.minimum(entered, least, out=entered)
        np.add(entered, sums[:, start:], out=totals[:, start:])
        cheapest = totals[:, start:-1].min(axis=0) + penalties[start:]
        changed = np.flatnonzero(cheapest != entries[start + 1 :])
        if len(changed) == 0:
            break
        entries[start + 1 :] = cheapest
        last = int(changed[0])
        least = entered[:, last : last + 1]
        start += last + 1
    return totals[:, -1:]


def _backtrack(totals: FloatArray, entries: FloatArray) -> IntArray:
    """Return the path of least total, from its last step to its first."""
    stop = int(totals.shape[1])
    path = np.empty(stop, dtype=np.int64)
    level = totals[:, -1].argmin()
    while stop > 1:
        begin = max(stop - 1 - CHUNK, 0)
        steps = np.flatnonzero(totals[level, begin : stop - 1] > entries[begin + 1 : stop])
        first = begin + 1 + (int(steps[-1]) if len(steps) else 0)
        path[first:stop] = level
        if len(steps):
            level = totals[:, first - 1].argmin()
        stop = first
    path[0] = level
    return path


@cache
def _grid_ranks(count: int) -> IntArray:
    return np.rint(np.linspace(0, count - 1, min(GRID_SIZE, count))).astype(np.int64)


def _in_units(costs: FloatArray) -> FloatArray:
    units: FloatArray = costs * UNITS
    return np.rint(units, out=units)


def _costs(levels: FloatArray, grids: FloatArray, scales: FloatArray, *, ends: int) -> FloatArray:
    """Return (N, G, R) losses of (R, N) observations at each of (R, G) levels, in units.

    Those of the last `ends` observations have no bound.
    """
    squares: FloatArray = levels.T[:, None] - grids.T
    squares /= scales
    squares *= squares
    losses = MAX_LOSS * squares
    losses /= MAX_LOSS + squares
    if ends > 0:
        losses[-ends:] = np.log1p(squares[-ends:])
    losses *= UNITS
    return np.rint(losses, out=losses)
