"""Rows of levels in, where each moved out, slow slopes taken off first."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from perfledger_baselines.history.noise import Noise, estimate_noise
from perfledger_baselines.history.search import Changes, confidences, search_changes
from perfledger_baselines.history.slope import Slopes, pool_slopes

# Of the interval of a move's size.
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One change of a row on the scale of its levels; places are indices of its observations."""

    place: int
    earliest: int
    latest: int
    before: float
    after: float
    half_width: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of N observations: what was read, what it was cleaned to, and where it moved.

    `cleaned` are the levels less the slope, which turns about the middle of the row. `slope` is per
    observation, 0 where the row does not creep.
    """

    levels: NDArray[np.float64]
    errors: NDArray[np.float64]
    cleaned: NDArray[np.float64]
    is_spike: NDArray[np.bool_]
    sd: float
    dependence: float
    moves: tuple[Move, ...]
    slope: float
    slope_error: float

    def sway(self, place: float) -> float:
        """Return what the slope adds to the level at a place."""
        return self.slope * (place - (len(self.levels) - 1) / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    count: int
    noise: Noise
    changes: Changes
    slopes: Slopes


def find_moves(
    levels: NDArray[np.float64], errors: NDArray[np.float64], *, floors: NDArray[np.float64]
) -> list[Row]:
    """Return each of (R, N) rows with its moves of at least its floor, (R,).

    `errors`, (R, N), are the levels' standard errors, zero where nobody told them. Rows that creep
    are searched again without their slope: on a slope, steps drown in stairs.
    """
    block = _search(levels, errors, floors)
    rows = list(_rows(block, levels, errors, slopes=np.zeros(len(levels))))
    creeping = np.flatnonzero(block.slopes.is_drift)
    if len(creeping) > 0:
        slopes = block.slopes.slope[creeping]
        turn = np.arange(int(levels.shape[1])) - (levels.shape[1] - 1) / 2
        flat = levels[creeping] - slopes[:, None] * turn
        straight = _search(flat, errors[creeping], floors[creeping])
        again = _rows(straight, levels[creeping], errors[creeping], slopes=slopes)
        for index, row in zip(creeping.tolist(), again, strict=True):
            rows[index] = row
    return rows


def _search(
    levels: NDArray[np.float64], errors: NDArray[np.float64], floors: NDArray[np.float64]
) -> _Block:
    noise = estimate_noise(levels, errors)
    changes = search_changes(noise, floors=floors)
    slopes = pool_slopes(noise, changes.gaps)
    return _Block(count=int(levels.shape[1]), noise=noise, changes=changes, slopes=slopes)


def _rows(
    block: _Block,
    levels: NDArray[np.float64],
    errors: NDArray[np.float64],
    *,
    slopes: NDArray[np.float64],
) -> Iterator[Row]:
    noise = block.noise
    moves = list(_moves(block))
    bounds = np.searchsorted(block.changes.gaps.row, np.arange(len(slopes) + 1)).tolist()
    sd, dependence = noise.sd.tolist(), noise.dependence.tolist()
    for index, (slope, slope_error) in enumerate(
        zip(slopes.tolist(), block.slopes.error.tolist(), strict=True)
    ):
        yield Row(
            levels=levels[index],
            errors=errors[index],
            cleaned=noise.cleaned[index],
            is_spike=noise.is_spike[index],
            sd=sd[index],
            dependence=dependence[index],
            moves=tuple(moves[bounds[index] : bounds[index + 1]]),
            slope=slope,
            slope_error=slope_error,
        )


def _moves(block: _Block) -> Iterator[Move]:
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
        yield Move(
            place=place,
            earliest=early,
            latest=late,
            before=before,
            after=after,
            half_width=half,
            confidence=sure,
        )
