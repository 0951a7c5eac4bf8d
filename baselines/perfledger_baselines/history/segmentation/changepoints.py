"""Finds the level shifts of rows, after removing slow drift."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray
from perfledger_baselines.history.segmentation.drift import Slopes, pool_slopes
from perfledger_baselines.history.segmentation.noise import NoiseEstimate, estimate_noise
from perfledger_baselines.history.segmentation.pruning import (
    RowChanges,
    confidences,
    search_changes,
)

# Of the interval of a shift's size.
CONFIDENCE = 0.95


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

    `cleaned` are the levels without spikes and without the slope, which has its zero in the middle
    of the row. `slope` is per observation, 0 where the row does not drift.
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
    searched again without their slope: a slope looks like a stair of steps.
    """
    block = _search(levels, errors, floors)
    rows = list(_rows(block, levels, errors, slopes=np.zeros(len(levels))))
    drifting = np.flatnonzero(block.slopes.is_drift)
    if len(drifting) > 0:
        slopes = block.slopes.slope[drifting]
        turn = np.arange(int(levels.shape[1])) - (levels.shape[1] - 1) / 2
        flat = levels[drifting] - slopes[:, None] * turn
        straight = _search(flat, errors[drifting], floors[drifting])
        again = _rows(straight, levels[drifting], errors[drifting], slopes=slopes)
        for index, row in zip(drifting.tolist(), again, strict=True):
            rows[index] = row
    return rows


def _search(levels: FloatArray, errors: FloatArray, floors: FloatArray) -> _Block:
    noise = estimate_noise(levels, errors)
    changes = search_changes(noise, floors=floors)
    slopes = pool_slopes(noise, changes.gaps)
    return _Block(count=int(levels.shape[1]), noise=noise, changes=changes, slopes=slopes)


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
