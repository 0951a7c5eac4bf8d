"""Finds where the noise of rows changed, and where they are in the upper state more or less."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray
from perfledger_baselines.history.segmentation.changepoints import NORMAL_QUANTILE, SearchedRow
from perfledger_baselines.history.segmentation.mean_shift import (
    MIN_SIDE,
    find_shifts,
    strongest_shifts,
)
from perfledger_baselines.history.segmentation.noise import MAX_DEPENDENCE
from perfledger_baselines.history.segmentation.pruning import needed_z

# A residual is clipped at this many SDs: one spike does not change the noise.
CAP_SPREADS = 4.0

# A smaller change of the noise does not matter.
MIN_RATIO = 1.5

# Spreads and shares need stronger evidence than levels: they raise no alarm, and the model of their
# noise is rougher.
EXTRA = 1.0

# The standard error of a log SD of n normal values is 1 / sqrt(2 n); tails make it larger.
TAILS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceChange:
    """A place from which the noise of a row is `ratio` times what it was."""

    place: int
    ratio: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StateShareShift:
    """A place from which a different share of a row is in its upper state."""

    place: int
    before: float
    after: float
    confidence: float


def find_variance_changes(rows: Sequence[SearchedRow]) -> list[tuple[VarianceChange, ...]]:
    """Return the changes of noise of each of these rows, which must be of equal length."""
    if len(rows[0].levels) < 2 * MIN_SIDE:
        return [() for _ in rows]
    residuals = np.stack([residuals_of(row) for row in rows])
    sizes: FloatArray = np.minimum(np.abs(residuals), CAP_SPREADS)
    # Of two normal values with correlation r the absolute values correlate by about r squared.
    dependence = np.array([row.dependence for row in rows]) ** 2
    z, _ = strongest_shifts(sizes, dependence)
    may_have = z >= needed_z(sizes.shape[1]) + EXTRA
    return [
        tuple(_changes(size, dependence=r)) if may else ()
        for size, r, may in zip(sizes, dependence.tolist(), may_have.tolist(), strict=True)
    ]


def find_share_shifts(is_upper: BoolArray) -> tuple[StateShareShift, ...]:
    """Return where a row (N,) began to be in its upper state more or less often.

    The test allows for states that persist.
    """
    upper = is_upper.astype(np.float64)
    if len(upper) < 2 * MIN_SIDE:
        return ()
    dependence = _stickiness(upper)
    return tuple(
        StateShareShift(
            place=shift.place,
            before=float(upper[shift.first : shift.place].mean()),
            after=float(upper[shift.place : shift.stop].mean()),
            confidence=shift.confidence,
        )
        for shift in find_shifts(upper, dependence=dependence, extra=EXTRA)
    )


def _stickiness(upper: FloatArray) -> float:
    """Return the lag-1 dependence of states, aside from a shift of their share.

    Independent states would switch in 2 p (1 - p) of all steps, where p is their share.
    """
    _, place = strongest_shifts(upper[None], np.zeros(1))
    expected = 0.0
    for part in (upper[: place[0]], upper[place[0] :]):
        expected += 2 * len(part) * float(part.mean()) * (1 - float(part.mean()))
    switches = float(np.abs(np.diff(upper)).sum())
    return min(max(1 - switches / expected, 0.0), MAX_DEPENDENCE) if expected > 0 else 0.0


def residuals_of(row: SearchedRow) -> FloatArray:
    """Return the levels minus those of their stretches and the slope, in SDs."""
    count = len(row.levels)
    if not row.shifts:
        level = row.cleaned.mean()
        residuals: FloatArray = row.levels - level
    else:
        places = [0, *(move.place for move in row.shifts), count]
        stretches = [row.shifts[0].before, *(move.after for move in row.shifts)]
        residuals = row.levels - np.repeat(stretches, np.diff(places))
    if row.slope:
        residuals = residuals - row.slope * (np.arange(count) - (count - 1) / 2)
    return residuals / row.sd


def _changes(sizes: FloatArray, *, dependence: float) -> list[VarianceChange]:
    changes: list[VarianceChange] = []
    for shift in find_shifts(sizes, dependence=dependence, extra=EXTRA):
        before, after = sizes[shift.first : shift.place], sizes[shift.place : shift.stop]
        squares = float(np.mean(before**2)), float(np.mean(after**2))
        if min(squares) <= 0:
            continue
        log_ratio = math.log(squares[1] / squares[0]) / 2
        half_width = NORMAL_QUANTILE * TAILS * math.sqrt(0.5 / len(before) + 0.5 / len(after))
        if abs(log_ratio) >= math.log(MIN_RATIO):
            changes.append(
                VarianceChange(
                    place=shift.place,
                    ratio=math.exp(log_ratio),
                    low=math.exp(log_ratio - half_width),
                    high=math.exp(log_ratio + half_width),
                    confidence=shift.confidence,
                )
            )
    return changes
