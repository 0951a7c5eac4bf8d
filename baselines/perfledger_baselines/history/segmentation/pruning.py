"""Prunes candidate change points, weakest first, until all that remain are significant."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.segmentation.changepoint_interval import Gaps, place_likelihoods
from perfledger_baselines.history.segmentation.compiled_loops import compile_loop
from perfledger_baselines.history.segmentation.noise import NoiseEstimate
from perfledger_baselines.history.segmentation.two_sample_tests import (
    REACH,
    PrefixSums,
    fit_gain,
    level_at,
    normal_quantile,
    step_gain_beside_line,
    step_gain_over_line,
    welch_split,
)

# The probability that a series without a change shows one, as far as the noise model holds. Every
# commit counts as one place (Bonferroni), so longer series need stronger changes.
ALPHA = 0.01

# A stretch of fewer observations is a spike or part of a transient, not a level.
MIN_STRETCH = 3

# Length below which a stretch at an end needs more evidence, and how much more. A stretch at either
# end that is shorter than this needs this much more: it may not last, and every new commit tests it
# again.
SHORT_END, SHORT_END_EXTRA = 6, 0.7

# Least gain of a step over a line, and of each step of a staircase in one direction, in squared
# standard errors. A line fits a step's surroundings, and drift fits a staircase, nearly as well.
OVER_LINE, STAIR_OVER_LINE = 4.0, 8.0

# Changes are moved to their best place and tested again, at most this many times.
ROUNDS = 2

# A change that fails a rule other than strength is dropped before all others.
WEAKEST = -100.0


class ChangeCriteria(NamedTuple):
    """What a change must reach: a normal quantile `need`, and a size `floor` in levels.

    `jump` is a difference of two neighbours too large to come from a slope.
    """

    need: float
    floor: float
    jump: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChanges:
    """K changes in R rows of N observations, ordered by row and place; arrays of shape (K,).

    `before` and `after` are levels, `error` the standard error of their difference.
    """

    gaps: Gaps
    earliest: IntArray
    latest: IntArray
    before: FloatArray
    after: FloatArray
    error: FloatArray
    degrees: FloatArray
    z: FloatArray


def needed_z(count: float) -> float:
    """Return the normal quantile that a change among `count` places must reach."""
    return float(-ndtri(ALPHA / 2 / count))


def confidences(z: FloatArray, *, count: int) -> FloatArray:
    """Return 1 - p, where p bounds the probability of such a z among `count` observations."""
    p_values = np.minimum(2 * count * ndtr(-z), 1.0)
    return 1 - p_values


def search_changes(noise: NoiseEstimate, fitted: FloatArray, *, floors: FloatArray) -> RowChanges:
    """Return the steps of `fitted`, (R, N), that are significant and at least their row's floor.

    The floors are on the scale of the levels.
    """
    count = int(noise.cleaned.shape[1])
    row, place = np.nonzero(fitted[:, 1:] != fitted[:, :-1])
    place = np.ascontiguousarray(place + 1)  # numba compiles a loop once for each memory layout
    sums = _prefix_sums(noise, set(row.tolist()))
    jumps = _unlikely_jumps(noise, need=needed_z(count))
    gaps = _prune_rows(sums, row, place, count=count, floors=floors, jumps=jumps)
    likelihoods = place_likelihoods(noise, gaps, fewest=MIN_STRETCH)
    for _ in range(ROUNDS):
        row, place = likelihoods.best(gaps.row)
        if np.array_equal(place, gaps.place):
            break
        gaps = _prune_rows(sums, row, place, count=count, floors=floors, jumps=jumps)
        likelihoods = place_likelihoods(noise, gaps, fewest=MIN_STRETCH)
    earliest, latest = likelihoods.interval()
    before, after, error, degrees, z = _test_gaps(sums, gaps)
    return RowChanges(
        gaps=gaps,
        earliest=np.minimum(earliest, gaps.place),
        latest=np.maximum(latest, gaps.place),
        before=before,
        after=after,
        error=error,
        degrees=degrees,
        z=z,
    )


def _unlikely_jumps(noise: NoiseEstimate, *, need: float) -> FloatArray:
    """Return (R,): the difference of neighbouring levels at a normal quantile of `need`."""
    return need * noise.sd * np.sqrt(2 * (1 - noise.dependence))


def _prefix_sums(noise: NoiseEstimate, rows: Collection[int]) -> dict[int, PrefixSums]:
    cleaned, weights = noise.cleaned, noise.weights
    moments = cleaned * np.arange(int(cleaned.shape[1]))
    terms = (cleaned, moments, weights, weights * cleaned, weights * cleaned**2)
    sums = np.zeros((len(terms), cleaned.shape[0], cleaned.shape[1] + 1))
    for number, term in enumerate(terms):
        np.cumsum(term, axis=1, out=sums[number, :, 1:])
    sd, dependence = noise.sd.tolist(), noise.dependence.tolist()
    return {
        row: PrefixSums.of([each[row] for each in sums], sd=sd[row], dependence=dependence[row])
        for row in rows
    }


def _prune_rows(
    sums: Mapping[int, PrefixSums],
    row: IntArray,
    place: IntArray,
    *,
    count: int,
    floors: FloatArray,
    jumps: FloatArray,
) -> Gaps:
    """Return the places of each row that are significant between their neighbours."""
    rows: list[int] = []
    places: list[int] = []
    bounds = np.flatnonzero(np.diff(row, prepend=-1, append=-1)).tolist()
    for start, stop in pairwise(bounds):
        number = int(row[start])
        row_sums = sums[number]
        # Dependent observations count as fewer places.
        need = needed_z(count * (1 - row_sums.dependence))
        rules = ChangeCriteria(need=need, floor=float(floors[number]), jump=float(jumps[number]))
        survivors = prune(row_sums, place[start:stop], rules)
        rows += [number] * len(survivors)
        places += survivors
    return Gaps.between(
        np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64), count=count
    )


def _test_gaps(sums: Mapping[int, PrefixSums], gaps: Gaps) -> FloatArray:
    """Return (5, K): what `welch_split` returns for each gap."""
    weights = np.empty((len(gaps.row), 5))
    columns = (gaps.row, gaps.first, gaps.place, gaps.stop)
    for index, (row, first, place, stop) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        weights[index] = welch_split(sums[row], first, place, stop)
    return weights.T


@compile_loop
def prune(row: PrefixSums, places: IntArray, rules: ChangeCriteria) -> list[int]:
    """Drop the weakest place that is not significant, until all are.

    All places that are weaker than both neighbours go at once: dropping one affects only these.
    """
    survivors = (
        [0, 0] + [int(place) for place in places] + [len(row.levels) - 1, len(row.levels) - 1]
    )
    scores = [1.0] * len(survivors)
    is_old = [False] * len(survivors)
    while True:
        for at in range(2, len(survivors) - 2):
            if not is_old[at]:
                bounds = (
                    survivors[at - 2],
                    survivors[at - 1],
                    survivors[at],
                    survivors[at + 1],
                    survivors[at + 2],
                )
                scores[at] = score(row, bounds, rules)
        is_dropped = [False] * len(survivors)
        dropped = 0
        for at in range(2, len(survivors) - 2):
            if scores[at] < 0 and scores[at] < scores[at - 1] and scores[at] <= scores[at + 1]:
                is_dropped[at] = True
                dropped += 1
        if dropped == 0:
            return survivors[2:-2]
        stay = [at for at in range(len(survivors)) if not is_dropped[at]]
        is_old = [
            not (
                is_dropped[max(at - 2, 0)]
                or is_dropped[max(at - 1, 0)]
                or is_dropped[min(at + 1, len(survivors) - 1)]
                or is_dropped[min(at + 2, len(survivors) - 1)]
            )
            for at in stay
        ]
        scores = [scores[at] for at in stay]
        survivors = [survivors[at] for at in stay]


@compile_loop
def score(row: PrefixSums, bounds: tuple[int, int, int, int, int], rules: ChangeCriteria) -> float:
    """Return by how much a change exceeds the requirement; negative means not significant."""
    _, first, place, stop, _ = bounds
    if min(place - first, stop - place) < MIN_STRETCH:
        return WEAKEST
    before, after, error, degrees, z = welch_split(row, first, place, stop)
    is_short = (first == 0 and place < SHORT_END) or (
        stop == len(row.levels) - 1 and stop - place < SHORT_END
    )
    excess = z - rules.need - SHORT_END_EXTRA * is_short
    if abs(after - before) < rules.floor:
        return min(excess, 0.0) + WEAKEST
    if excess < 0:
        return excess
    jump = level_at(row, place) - level_at(row, place - 1)
    if math.copysign(jump, jump * (after - before)) >= rules.jump:
        return excess  # a slope changes little at each commit
    near_before, near_after = min(place - first, REACH), min(stop - place, REACH)
    unit = error * error * near_before * near_after / (near_before + near_after)
    # Lines are fitted by least squares: a step's better robust fit gives it no advantage here.
    unit /= fit_gain(near_before, near_after, row.dependence)
    gain, steps = step_gain_over_line(row, bounds)
    if gain >= (OVER_LINE if steps == 1 else STAIR_OVER_LINE) * unit:
        return excess
    beside = math.sqrt(step_gain_beside_line(row, first, place, stop) / unit)
    is_beside = normal_quantile(beside, degrees) >= rules.need
    return excess if is_beside else -1 / (1 + excess)  # a staircase's largest step goes last
