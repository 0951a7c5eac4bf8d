"""Rows with their moves in, where the noise of each, or its share of a slow state, changed out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_baselines.history.moves import Row
from perfledger_baselines.history.noise import LARGEST_DEPENDENCE
from perfledger_baselines.history.search import needed_z
from perfledger_baselines.history.shift import FEWEST, find_shifts, strongest_shifts

# A residual counts as at most so many SDs: one spike is no change of the noise.
CAP_SPREADS = 4.0

# Less of a change of the noise concerns nobody.
SMALLEST_RATIO = 1.5

# Spreads and shares are asked for more than levels: nobody is called for them, and the model of
# their noise is rougher.
EXTRA = 1.0

# The standard error of a log SD of n normal values is 1 / sqrt(2 n); tails make it larger.
TAILS = 1.5

NORMAL_QUANTILE = 1.96  # of a 95 % interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrest:
    """From observation `place` on the noise of a row is `ratio` times what it was."""

    place: int
    ratio: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareShift:
    """From observation `place` on another share of a row is in its upper state."""

    place: int
    before: float
    after: float
    confidence: float


def find_unrest(rows: Sequence[Row]) -> list[tuple[Unrest, ...]]:
    """Return the changes of noise of each of these rows, which must be equally long."""
    if len(rows[0].levels) < 2 * FEWEST:
        return [() for _ in rows]
    residuals = np.stack([_residuals(row) for row in rows])
    sizes: NDArray[np.float64] = np.minimum(np.abs(residuals), CAP_SPREADS)
    # Of two normal values with correlation r the absolute values correlate by about r squared.
    dependence = np.array([row.dependence for row in rows]) ** 2
    z, _ = strongest_shifts(sizes, dependence)
    may_have = z >= needed_z(sizes.shape[1]) + EXTRA
    return [
        tuple(_unrest(size, dependence=r)) if may else ()
        for size, r, may in zip(sizes, dependence.tolist(), may_have.tolist(), strict=True)
    ]


def find_share_shifts(is_upper: NDArray[np.bool_]) -> tuple[ShareShift, ...]:
    """Return where a row (N,) began to be in its upper state more or less often.

    States last, and that widens the test.
    """
    upper = is_upper.astype(np.float64)
    if len(upper) < 2 * FEWEST:
        return ()
    dependence = _stickiness(upper)
    return tuple(
        ShareShift(
            place=shift.place,
            before=float(upper[shift.first : shift.place].mean()),
            after=float(upper[shift.place : shift.stop].mean()),
            confidence=shift.confidence,
        )
        for shift in find_shifts(upper, dependence=dependence, extra=EXTRA)
    )


def _stickiness(upper: NDArray[np.float64]) -> float:
    """Return the lag-1 dependence of states, a shift of their share at the likeliest place apart.

    States of their own accord would switch in 2 p (1 - p) of all steps, p being their share.
    """
    _, place = strongest_shifts(upper[None], np.zeros(1))
    alone = 0.0
    for part in (upper[: place[0]], upper[place[0] :]):
        alone += 2 * len(part) * float(part.mean()) * (1 - float(part.mean()))
    switches = float(np.abs(np.diff(upper)).sum())
    return min(max(1 - switches / alone, 0.0), LARGEST_DEPENDENCE) if alone > 0 else 0.0


def _residuals(row: Row) -> NDArray[np.float64]:
    """Return the levels less their stretch's and the slope, in SDs."""
    count = len(row.levels)
    if not row.moves:
        level = row.cleaned.mean()
        residuals: NDArray[np.float64] = row.levels - level
    else:
        places = [0, *(move.place for move in row.moves), count]
        stretches = [row.moves[0].before, *(move.after for move in row.moves)]
        residuals = row.levels - np.repeat(stretches, np.diff(places))
    if row.slope:
        residuals = residuals - row.slope * (np.arange(count) - (count - 1) / 2)
    return residuals / row.sd


def _unrest(sizes: NDArray[np.float64], *, dependence: float) -> list[Unrest]:
    found: list[Unrest] = []
    for shift in find_shifts(sizes, dependence=dependence, extra=EXTRA):
        before, after = sizes[shift.first : shift.place], sizes[shift.place : shift.stop]
        squares = float(np.mean(before**2)), float(np.mean(after**2))
        if min(squares) <= 0:
            continue
        log_ratio = math.log(squares[1] / squares[0]) / 2
        half_width = NORMAL_QUANTILE * TAILS * math.sqrt(0.5 / len(before) + 0.5 / len(after))
        if abs(log_ratio) >= math.log(SMALLEST_RATIO):
            found.append(
                Unrest(
                    place=shift.place,
                    ratio=math.exp(log_ratio),
                    low=math.exp(log_ratio - half_width),
                    high=math.exp(log_ratio + half_width),
                    confidence=shift.confidence,
                )
            )
    return found
