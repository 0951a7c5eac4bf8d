"""Tests the shifts of a row whose noise changed, using the noise of each part.

The search assumes one spread for the whole row. Where the noise became ten times as large, chance
alone moves the levels of the noisy part by many of those spreads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import ndtri

from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.history.detection.variance_changes import residuals_of
from perfledger_baselines.history.segmentation.changepoints import (
    CONFIDENCE,
    LevelShift,
    SearchedRow,
)
from perfledger_baselines.history.segmentation.noise import CLIP_SPREADS
from perfledger_baselines.history.segmentation.pruning import confidences, needed_z

SD_OF_MEDIAN_SIZE = 1.4826  # the SD of Gaussian values over the median of their absolute values
# Relative to the row's spread: if most values of a part are equal, as with counts, its own spread
# is zero.
MIN_SPREAD = 1e-6


@dataclass(frozen=True, slots=True)
class _Stretch:
    mean: float
    error: float


def without_chance_shifts(row: SearchedRow, noise_places: Sequence[int]) -> SearchedRow:
    """Return a row without the shifts that the noise of their own part explains.

    `noise_places` are where the noise of the row changed; without any, the row is returned as it
    is. The weakest shift goes first, as the others are clearer without it.
    """
    bounds = sorted({place for place in noise_places if 0 < place < len(row.levels)})
    if not bounds or not row.shifts:
        return row
    values, variances = _values(row, bounds)
    need = needed_z(len(values))
    shifts = list(row.shifts)
    while shifts:
        stretches = _stretches(row, values, variances, [shift.place for shift in shifts])
        z = [_z(*pair) for pair in pairwise(stretches)]
        weakest = min(range(len(z)), key=z.__getitem__)
        if z[weakest] >= need:
            break
        del shifts[weakest]
    if len(shifts) == len(row.shifts):
        return row
    stretches = _stretches(row, values, variances, [shift.place for shift in shifts])
    pairs = zip(shifts, stretches, stretches[1:], strict=False)
    return replace(row, shifts=tuple(_tested_shift(*pair, count=len(values)) for pair in pairs))


def _values(row: SearchedRow, places: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """Return the levels without the slope and distant spikes, and their variances, both (N,)."""
    off = residuals_of(row) * row.sd
    count = len(off)
    bounds = [0, *places, count]
    parts = [off[first:stop] for first, stop in pairwise(bounds)]
    sizes = [SD_OF_MEDIAN_SIZE * float(np.median(np.abs(part))) for part in parts]
    sd = np.repeat(np.maximum(sizes, MIN_SPREAD * row.sd), np.diff(bounds))
    turn = np.arange(count) - (count - 1) / 2
    fitted = row.levels - row.slope * turn - off
    return fitted + np.clip(off, -CLIP_SPREADS * sd, CLIP_SPREADS * sd), sd**2


def _stretches(
    row: SearchedRow, values: FloatArray, variances: FloatArray, places: Sequence[int]
) -> list[_Stretch]:
    """Return the means of the stretches between places, weighted by precision."""
    dependence = (1 + row.dependence) / (1 - row.dependence)
    bounds = [0, *places, len(values)]
    stretches: list[_Stretch] = []
    for first, stop in pairwise(bounds):
        weights = 1 / variances[first:stop]
        mean = float(np.average(values[first:stop], weights=weights))
        stretches.append(_Stretch(mean, math.sqrt(dependence / float(weights.sum()))))
    return stretches


def _z(before: _Stretch, after: _Stretch) -> float:
    return abs(after.mean - before.mean) / math.hypot(before.error, after.error)


def _tested_shift(
    shift: LevelShift, before: _Stretch, after: _Stretch, *, count: int
) -> LevelShift:
    half_width = float(ndtri((1 + CONFIDENCE) / 2)) * math.hypot(before.error, after.error)
    confidence = confidences(np.array([_z(before, after)]), count=count)
    return replace(
        shift,
        before=before.mean,
        after=after.mean,
        half_width=half_width,
        confidence=float(confidence[0]),
    )
