"""Finds the level shifts of rows, after removing slow drift."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray, IntArray
from perfledger_baselines.history.segmentation.changepoint_interval import Gaps
from perfledger_baselines.history.segmentation.noise import (
    NoiseEstimate,
    estimate_noise,
    refit_noise,
)
from perfledger_baselines.history.segmentation.pruning import (
    RowChanges,
    confidences,
    needed_z,
    search_changes,
)
from perfledger_baselines.history.segmentation.robust_levels import fit_levels

# Of the interval of a shift's size.
CONFIDENCE = 0.95
# Standard errors between an estimate and either end of its 95 % interval.
NORMAL_QUANTILE = 1.96

# Standard errors from which a slope is significant. At 4.5, 7 in a million rows have one by chance
# if the noise model holds; dependence is its least certain part.
NEEDED_Z = 4.5

# With fewer observations the noise cannot be estimated.
MIN_FOR_FIT = 40

# With fewer observations slow drift cannot be separated from other changes.
MIN_FOR_DRIFT = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Slopes:
    """The slopes of R rows, in level per observation within stretches, and their errors."""

    slope: FloatArray
    error: FloatArray

    @property
    def is_drift(self) -> BoolArray:
        """Return which rows drift."""
        return np.abs(self.slope) > NEEDED_Z * self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelShift:
    """One shift of a row, on the scale of its levels; places are indices of its observations."""

    place: int
    earliest: int
    latest: int
    before: float
    after: float
    half_width: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedRow:
    """One row of N observations: its levels, cleaned levels and level shifts.

    `cleaned` are the levels without spikes and without the slope, which is zero at the middle of
    the row. `slope` is per observation, 0 where the row does not drift.
    """

    levels: FloatArray
    errors: FloatArray
    cleaned: FloatArray
    is_spike: BoolArray
    sd: float
    dependence: float
    shifts: tuple[LevelShift, ...]
    slope: float
    slope_error: float

    def slope_offset(self, place: float) -> float:
        """Return what the slope adds to the level at a place."""
        return self.slope * (place - (len(self.levels) - 1) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    count: int
    noise: NoiseEstimate
    changes: RowChanges
    slopes: Slopes


def search_rows(levels: FloatArray, errors: FloatArray, *, floors: FloatArray) -> list[SearchedRow]:
    """Return each of (R, N) rows with its shifts of at least its floor, (R,).

    `errors`, (R, N), are the levels' standard errors, zero where unknown. Rows that drift are
    searched again without their slope: a slope looks like a staircase.
    """
    block = _search(levels, errors, floors)
    rows = list(_rows(block, levels, errors, slopes=np.zeros(len(levels))))
    drifting = np.flatnonzero(block.slopes.is_drift)
    if drifting.size:
        slopes = block.slopes.slope[drifting]
        turn = np.arange(int(levels.shape[1])) - (levels.shape[1] - 1) / 2
        flat = levels[drifting] - slopes[:, None] * turn
        straight = _search(flat, errors[drifting], floors[drifting])
        again = _rows(straight, levels[drifting], errors[drifting], slopes=slopes)
        for index, row in zip(drifting.tolist(), again, strict=True):
            rows[index] = row
    return rows


def pool_slopes(noise: NoiseEstimate, gaps: Gaps) -> Slopes:
    """Return the least-squares slope common to all stretches of each row, steps excluded.

    It is fitted to cleaned levels, so spikes have no effect. Its error allows for AR(1) noise.
    """
    rows, count = len(noise.cleaned), int(noise.cleaned.shape[1])
    if count < MIN_FOR_DRIFT:
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
    last[gaps.row] = gaps.place  # ordered by place: the last one remains
    return (
        np.concatenate([gaps.row, all_rows]),
        np.concatenate([gaps.first, last]),
        np.concatenate([gaps.place, np.full(rows, count)]),
    )


def _search(levels: FloatArray, errors: FloatArray, floors: FloatArray) -> _Block:
    count = int(levels.shape[1])
    fitted = fit_levels(levels, penalty=needed_z(count) ** 2 / 2)
    noise = estimate_noise(levels, errors)
    if count >= MIN_FOR_FIT:
        noise = refit_noise(noise, fitted, levels=levels, errors=errors)
    changes = search_changes(noise, fitted, floors=floors)
    return _Block(
        count=count, noise=noise, changes=changes, slopes=pool_slopes(noise, changes.gaps)
    )


def _rows(
    block: _Block, levels: FloatArray, errors: FloatArray, *, slopes: FloatArray
) -> Iterator[SearchedRow]:
    noise = block.noise
    shifts = list(_shifts(block))
    bounds = np.searchsorted(block.changes.gaps.row, np.arange(len(slopes) + 1)).tolist()
    sd, dependence = noise.sd.tolist(), noise.dependence.tolist()
    for index, (slope, slope_error) in enumerate(
        zip(slopes.tolist(), block.slopes.error.tolist(), strict=True)
    ):
        yield SearchedRow(
            levels=levels[index],
            errors=errors[index],
            cleaned=noise.cleaned[index],
            is_spike=noise.is_spike[index],
            sd=sd[index],
            dependence=dependence[index],
            shifts=tuple(shifts[bounds[index] : bounds[index + 1]]),
            slope=slope,
            slope_error=slope_error,
        )


def _shifts(block: _Block) -> Iterator[LevelShift]:
    changes = block.changes
    half_width = stdtrit(changes.degrees, (1 + CONFIDENCE) / 2) * changes.error
    confidence = confidences(changes.z, count=block.count)
    columns = (
        changes.gaps.place,
        changes.earliest,
        changes.latest,
        changes.before,
        changes.after,
        half_width,
        confidence,
    )
    for place, early, late, before, after, half, sure in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        yield LevelShift(
            place=place,
            earliest=early,
            latest=late,
            before=before,
            after=after,
            half_width=half,
            confidence=sure,
        )
