"""Separates the daily and weekly cycle of a machine from series whose times are known.

A cycle predicts one week from the others. Each week is therefore corrected by what was fitted to
other weeks. A step, which happens once, predicts no other week, and neither do meaningless times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_WEEK
from perfledger_baselines.estimation.arrays import BoolArray, FloatArray, IntArray
from perfledger_baselines.history.segmentation.noise import (
    CLIP_SPREADS,
    MIN_SPREAD,
    PSEUDO_SPREADS,
)

# Sines and cosines for each period: a third of a day separates working hours from the rest.
HARMONICS = 3

# Weeks are divided into this many groups, and each group is corrected by the others.
FOLDS = 4

# Weight of a prior for no cycle, in observations: times that carry no information give none.
RIDGE = 1.0

# Rounds of reweighting, after which spikes and steps not yet found hardly count.
ROUNDS = 5

# With fewer timed observations a cycle does not show.
MIN_TIMED = 40

# In standard errors: how closely differences of neighbours must follow those of a cycle before a
# search is worth it. Two in a hundred series without a cycle do.
LIKELY = 2.0

# Observations on each side of a place where the hours of measurement may have changed.
MIN_BESIDE = 12

# Share of a step explained by the hours, beyond which the two cannot be separated.
CONFOUNDED = 0.5


@dataclass(frozen=True, slots=True)
class ConfoundedStep:
    """A place from which the cycle adds `rise`, because of hours that were not measured before."""

    place: int
    rise: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCycle:
    """A daily and a weekly cycle of a row, each as half its range; 0 for one that is not seen.

    `confounded` are steps that the cycle may have absorbed: the hours of measurement changed at the
    same place.
    """

    daily: float
    weekly: float
    confounded: tuple[ConfoundedStep, ...]


class CycleBasis:
    """The hours and weekdays of a series' observations, as regressors of their levels."""

    def __init__(self, times: FloatArray) -> None:
        """Take (N,) times in seconds since the epoch, NaN where unknown."""
        self.is_timed: BoolArray = ~np.isnan(times)
        seconds = np.where(self.is_timed, times, 0.0)
        columns = _harmonics(seconds)
        columns[~self.is_timed] = 0.0
        self._middle: FloatArray = columns.sum(axis=0) / max(int(self.is_timed.sum()), 1)
        self._columns: FloatArray = np.where(
            self.is_timed[:, None], columns - self._middle, columns
        )
        self._fold: FloatArray = np.where(
            self.is_timed, np.floor(seconds / SECONDS_PER_WEEK) % FOLDS, -1.0
        )

    @property
    def can_show_cycle(self) -> bool:
        """Return whether there are enough observations, of more than one group of weeks."""
        folds = np.unique(self._fold[self.is_timed])
        return int(self.is_timed.sum()) >= MIN_TIMED and len(folds) > 1

    def offsets(self, levels: FloatArray, places: Sequence[int]) -> FloatArray:
        """Return (2, N): what day and week add to levels that step at these places.

        Each week is predicted by the others; zero where the time is unknown.
        """
        starts = np.array([0, *places], dtype=np.int64)
        offsets = np.zeros((2, len(levels)))
        for fold in np.unique(self._fold[self.is_timed]):
            is_own = self._fold == fold
            coefficients = self._coefficients(levels, starts, self.is_timed & ~is_own)
            for part, columns, own in zip(
                offsets,
                np.split(self._columns[is_own], 2, axis=1),
                np.split(coefficients, 2),
                strict=True,
            ):
                part[is_own] = columns @ own
        return offsets

    def half_ranges(self, levels: FloatArray, places: Sequence[int]) -> tuple[float, float]:
        """Return half the range of the daily and of the weekly part of the cycle."""
        starts = np.array([0, *places], dtype=np.int64)
        daily, weekly = np.split(self._coefficients(levels, starts, self.is_timed), 2)
        return _half_range(daily), _half_range(weekly)

    def confounded_steps(
        self, offsets: FloatArray, places: Sequence[int], *, floor: float
    ) -> tuple[ConfoundedStep, ...]:
        """Return the steps of at least `floor` that the cycle may have absorbed, one per stretch.

        At such a place the hours of measurement changed so much that they explain a step equally
        well.
        """
        stretches = list(pairwise([0, *places, len(offsets)]))
        columns = np.concatenate(
            [
                self._columns[first:stop] - self._columns[first:stop].mean(axis=0)
                for first, stop in stretches
            ]
        )
        products = columns.T @ columns + RIDGE * np.eye(columns.shape[1])
        steps: list[ConfoundedStep] = []
        for first, stop in stretches:
            place = np.arange(MIN_BESIDE, stop - first - MIN_BESIDE)
            if len(place) == 0:
                continue
            rest = stop - first - place
            before = np.cumsum(columns[first:stop], axis=0)[place - 1]
            explained = (before * np.linalg.solve(products, before.T).T).sum(axis=1)
            sums = np.cumsum(offsets[first:stop])
            rise = (sums[-1] - sums[place - 1]) / rest - sums[place - 1] / place
            rise[explained < CONFOUNDED * place * rest / (stop - first)] = 0.0
            best = int(np.abs(rise).argmax())
            if abs(rise[best]) >= floor:
                steps.append(ConfoundedStep(first + int(place[best]), float(rise[best])))
        return tuple(steps)

    def _coefficients(
        self, levels: FloatArray, starts: IntArray, is_counted: BoolArray
    ) -> FloatArray:
        """Return the columns' coefficients by robust least squares, beside a level per stretch."""
        counted: FloatArray = is_counted.astype(np.float64)
        weights: FloatArray = counted
        table: FloatArray = np.column_stack([self._columns, levels])
        lengths = np.diff([*starts.tolist(), len(levels)])
        size = int(self._columns.shape[1])
        coefficients: FloatArray = np.zeros((size,))
        for _ in range(ROUNDS):
            totals: FloatArray = np.add.reduceat(weights[:, None] * table, starts, axis=0)
            sizes = np.maximum(np.add.reduceat(weights, starts), MIN_SPREAD)
            off: FloatArray = table - np.repeat(totals / sizes[:, None], lengths, axis=0)
            columns, rest = off[:, :-1], off[:, -1]
            weighted = columns * weights[:, None]
            coefficients[:] = np.linalg.solve(
                weighted.T @ columns + RIDGE * np.eye(size), weighted.T @ rest
            )
            residuals = np.abs(rest - columns @ coefficients)
            scale = max(float(np.median(residuals[is_counted])), MIN_SPREAD)
            weights = counted / (1 + (residuals / (PSEUDO_SPREADS * scale)) ** 2)
        return coefficients


def is_likely(levels: FloatArray, offsets: FloatArray) -> bool:
    """Return whether neighbours' differences follow those of the offsets; steps hardly count."""
    differences, expected = np.diff(levels), np.diff(offsets)
    spread = max(float(np.median(np.abs(differences))), MIN_SPREAD)
    clipped = np.clip(differences, -CLIP_SPREADS * spread, CLIP_SPREADS * spread)
    error = np.sqrt(float((clipped**2).mean()) * float((expected**2).sum()))
    return float((clipped * expected).sum()) > LIKELY * float(error)


def _harmonics(times: FloatArray) -> FloatArray:
    """Return (N, 4 HARMONICS) sines and cosines: those of the day, then those of the week."""
    columns: list[FloatArray] = []
    for period in (SECONDS_PER_DAY, SECONDS_PER_WEEK):
        turn = 2 * np.pi * (times % period) / period
        for number in range(1, HARMONICS + 1):
            columns += [np.sin(number * turn), np.cos(number * turn)]
    return np.stack(columns, axis=1)


def _half_range(coefficients: FloatArray) -> float:
    """Return half the range of one period's part."""
    turn = np.linspace(0.0, SECONDS_PER_DAY, 97)
    part = _harmonics(turn)[:, : len(coefficients)] @ coefficients
    return float(np.ptp(part)) / 2
