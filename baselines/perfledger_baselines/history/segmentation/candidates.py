"""Scans rows for candidate change points, on several window widths."""

import math
from collections.abc import Callable

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.segmentation.compiled_loops import COMPILER, compiled
from perfledger_baselines.history.segmentation.noise import NoiseEstimate
from perfledger_baselines.history.segmentation.two_sample_tests import dependence_factors

# Observations on either side of a place. Each width is 1.5 times the one before, so that a stretch
# differs from the nearest window by a quarter at most, which costs a tenth of its strength.
WIDTHS = np.array((3, 4, 6, 9, 13, 19, 28, 42, 63, 100))

# A window sees less than the test of whole stretches: 1 / sqrt 2 of it where the other stretch is
# long. A lower threshold only costs time: noise helps what is near it over it.
SHARE_OF_NEED = 0.68


def candidates(noise: NoiseEstimate, *, need: float, fewest: int) -> tuple[IntArray, IntArray]:
    """Return (rows, places), in order, of all places that may turn out to reach `need`.

    They are the peaks, at any width, of |mean after - mean before| in standard errors under
    dependent noise: a moving-sum scan (Eichinger & Kirch, Bernoulli 24, 2018) on several scales
    (Cho & Kirch 2022), O(N) for each. Near the ends the outer window is shorter. In noise that is
    close to a random walk means say little and the jump between two neighbours says nearly all: a
    jump that is unlikely by itself is a candidate too. Of places too close to each other the
    strongest remains.
    """
    rows, count = len(noise.cleaned), int(noise.cleaned.shape[1])
    widths = WIDTHS[count // 2 >= WIDTHS]
    sums = np.zeros((rows, count + 1))
    np.cumsum(noise.cleaned, axis=1, out=sums[:, 1:])
    factors = dependence_factors(widths.astype(np.float64), noise.dependence[:, None])
    enough = SHARE_OF_NEED * need * noise.sd[:, None] * np.sqrt(factors)
    peaks: Callable[..., FloatArray] = vector_peaks if COMPILER is None else loop_peaks
    strength = peaks(sums, enough, widths, fewest)
    inner = slice(fewest, count - fewest + 1)
    jumps = np.abs(np.diff(noise.cleaned, axis=1))[:, fewest - 1 : count - fewest]
    jumps = jumps / unlikely_jumps(noise, need=need)[:, None]
    strength[:, inner] = np.maximum(strength[:, inner], np.where(jumps >= 1, jumps, 0.0))
    row, place = np.nonzero(strength)
    return _apart(row, place, strength[row, place], fewest=fewest)


def unlikely_jumps(noise: NoiseEstimate, *, need: float) -> FloatArray:
    """Return (R,): the difference of two neighbouring levels at a normal quantile of `need`."""
    return need * noise.sd * np.sqrt(2 * (1 - noise.dependence))


def vector_peaks(sums: FloatArray, enough: FloatArray, widths: IntArray, fewest: int) -> FloatArray:
    """Return (R, N): the ratio of a peak at any width to its threshold; 0 where there is no peak.

    `sums` is (R, N + 1), the thresholds `enough` (R, W). A peak is no lower than its neighbours and
    the steps a quarter and half a width away.
    """
    rows, count = len(sums), int(sums.shape[1]) - 1
    place = np.arange(fewest, count - fewest + 1)
    first, stop = np.maximum(place - widths[:, None], 0), np.minimum(place + widths[:, None], count)
    before, after = place - first, stop - place
    here = sums[:, None, fewest : count - fewest + 1]
    step = np.abs((sums[:, stop] - here) / after - (here - sums[:, first]) / before)
    step *= np.sqrt(before * after / (before + after))
    is_peak = step > enough[:, :, None]
    is_peak[:, :, 1:] &= step[:, :, 1:] >= step[:, :, :-1]
    is_peak[:, :, :-1] &= step[:, :, :-1] >= step[:, :, 1:]
    row, width, column = np.nonzero(is_peak)
    lags = np.stack([np.maximum(widths // 4, 1), widths // 2])[:, width]
    near = np.minimum(np.maximum(column + np.concatenate([lags, -lags]), 0), len(place) - 1)
    higher = np.count_nonzero(step[row, width, near] > step[row, width, column], axis=0)
    row, width, column = row[higher == 0], width[higher == 0], column[higher == 0]
    strength = np.zeros((rows, count))
    excess = step[row, width, column] / enough[row, width]
    np.maximum.at(strength, (row, column + fewest), excess)
    return strength


@compiled
def loop_peaks(sums: FloatArray, enough: FloatArray, widths: IntArray, fewest: int) -> FloatArray:
    """Return what `vector_peaks` returns, place by place: quicker if compiled, else much slower."""
    count = sums.shape[1] - 1
    strength = np.zeros((sums.shape[0], count))
    for row in range(sums.shape[0]):
        for number in range(len(widths)):
            step = loop_steps(sums[row], widths[number], fewest)
            for column in range(len(step)):
                height = step[column]
                if height > enough[row, number] and is_peak_at(step, column, widths[number]):
                    place, excess = column + fewest, height / enough[row, number]
                    strength[row, place] = max(strength[row, place], excess)
    return strength


@compiled
def loop_steps(sums: FloatArray, width: int, fewest: int) -> FloatArray:
    """Return the weighted step at each possible place of one row, (N - 2 fewest + 1,)."""
    count = len(sums) - 1
    step = np.empty(count - 2 * fewest + 1)
    inner = range(max(width, fewest), count - max(width, fewest) + 1)
    middle = math.sqrt(width * width / (width + width))
    for place in inner:
        change = (sums[place + width] - sums[place]) / width
        step[place - fewest] = abs(change - (sums[place] - sums[place - width]) / width) * middle
    for place in range(fewest, count - fewest + 1):
        if width <= place <= count - width:
            continue
        first, stop = max(place - width, 0), min(place + width, count)
        before, after = place - first, stop - place
        change = (sums[stop] - sums[place]) / after - (sums[place] - sums[first]) / before
        step[place - fewest] = abs(change) * math.sqrt(before * after / (before + after))
    return step


@compiled
def is_peak_at(step: FloatArray, column: int, width: int) -> bool:
    """Return whether a step is no lower than those one place, a quarter and half a width away."""
    for lag in (1, max(width // 4, 1), width // 2):
        if step[max(column - lag, 0)] > step[column]:
            return False
        if step[min(column + lag, len(step) - 1)] > step[column]:
            return False
    return True


def _apart(
    row: IntArray, place: IntArray, strength: FloatArray, *, fewest: int
) -> tuple[IntArray, IntArray]:
    """Return (rows, places) without those that have a stronger one too close."""
    while True:
        is_near = (row[1:] == row[:-1]) & (place[1:] - place[:-1] < fewest)
        if not is_near.any():
            # numba compiles a loop once for each memory layout: use one layout.
            return row, np.ascontiguousarray(place)
        is_weak = np.zeros(len(row), dtype=np.bool_)
        is_weak[1:] |= is_near & (strength[1:] <= strength[:-1])
        is_weak[:-1] |= is_near & (strength[:-1] < strength[1:])
        row, place, strength = row[~is_weak], place[~is_weak], strength[~is_weak]
