"""Estimates slow drift: the slope that all stretches of a row share."""

from dataclasses import dataclass

import numpy as np

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray, IntArray
from perfledger_baselines.history.segmentation.changepoint_interval import Gaps
from perfledger_baselines.history.segmentation.noise import NoiseEstimate

# A slope is significant at so many standard errors: at 4.5, 7 in a million rows have one by chance
# if the noise model holds, and dependence is its least well known part.
NEEDED_Z = 4.5

# Fewer observations cannot separate slow drift from other changes.
FEWEST = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """The slopes of R rows, in level per observation within stretches, and their errors."""

    slope: FloatArray
    error: FloatArray

    @property
    def is_drift(self) -> BoolArray:
        """Return which rows drift."""
        return np.abs(self.slope) > NEEDED_Z * self.error


def pool_slopes(noise: NoiseEstimate, gaps: Gaps) -> Slopes:
    """Return the least-squares slope common to all stretches of each row, steps excluded.

    On cleaned levels, so that spikes have no effect. Its error allows for AR(1) noise.
    """
    rows, count = len(noise.cleaned), int(noise.cleaned.shape[1])
    if count < FEWEST:
        return Slopes(slope=np.zeros(rows), error=np.ones(rows))
    index = np.arange(count, dtype=np.float64)
    row, first, stop = _stretches(gaps, rows=rows, count=count)
    size = (stop - first).astype(np.float64)
    middle = (first + stop - 1) / 2
    sums = np.zeros((rows, count + 1))
    np.cumsum(noise.cleaned * index, axis=1, out=sums[:, 1:])
    moment = sums[row, stop] - sums[row, first]
    np.cumsum(noise.cleaned, axis=1, out=sums[:, 1:])
    total = sums[row, stop] - sums[row, first]
    sway = np.bincount(row, size * (size**2 - 1) / 12, minlength=rows)
    slope = np.bincount(row, moment - middle * total, minlength=rows) / sway
    factor = (1 + noise.dependence) / (1 - noise.dependence)
    return Slopes(slope=slope, error=noise.sd * np.sqrt(factor / sway))


def _stretches(gaps: Gaps, *, rows: int, count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return (row, first, stop) of all stretches: one before each change, and each row's last."""
    all_rows = np.arange(rows)
    last = np.zeros(rows, dtype=np.int64)
    last[gaps.row] = gaps.place  # ordered by place: the last one stays
    return (
        np.concatenate([gaps.row, all_rows]),
        np.concatenate([gaps.first, last]),
        np.concatenate([gaps.place, np.full(rows, count)]),
    )
