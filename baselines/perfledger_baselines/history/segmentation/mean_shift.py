"""Finds shifts of a mean by binary segmentation, for spreads and shares, which have no spikes."""

from dataclasses import dataclass

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.segmentation.pruning import confidences, needed_z

# Fewer observations per side say little about a spread or a share.
MIN_SIDE = 20


@dataclass(frozen=True, slots=True)
class MeanShift:
    """A shift of the mean at `place`, between the neighbouring shifts at `first` and `stop`."""

    first: int
    place: int
    stop: int
    confidence: float


def strongest_shifts(sequences: FloatArray, dependence: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the largest z of a shift of each of (R, N) sequences, and its place.

    The difference of the means before and after, in standard errors of a sequence with one mean and
    the given (R,) lag-1 dependence. N must be at least twice MIN_SIDE.
    """
    rows, count = len(sequences), int(sequences.shape[1])
    place = np.arange(MIN_SIDE, count - MIN_SIDE + 1)
    sums = np.cumsum(sequences, axis=1)
    total = sums[:, -1:]
    excess = np.abs(sums[:, place - 1] - total * (place / count))
    z = excess / np.sqrt(place * (count - place) / count)
    best = z.argmax(axis=1)
    factor = (1 + dependence) / (1 - dependence)
    spread = sequences.std(axis=1) * np.sqrt(factor)
    strongest = z[np.arange(rows), best] / np.maximum(spread, np.finfo(np.float64).tiny)
    return np.where(spread > 0, strongest, 0.0), place[best]


def find_shifts(sequence: FloatArray, *, dependence: float, extra: float) -> list[MeanShift]:
    """Return all shifts of one sequence above `needed_z` plus `extra`, ordered by place.

    Binary segmentation: each stretch is split at its strongest shift, until none is left.
    """
    count = len(sequence)
    shifts: list[MeanShift] = []
    stretches = [(0, count)]
    while stretches:
        first, stop = stretches.pop()
        if stop - first < 2 * MIN_SIDE:
            continue
        z, place = strongest_shifts(sequence[None, first:stop], np.array([dependence]))
        if z[0] < needed_z(count) + extra:
            continue
        middle = first + int(place[0])
        sure = float(confidences(z, count=count)[0])
        shifts.append(MeanShift(first=first, place=middle, stop=stop, confidence=sure))
        stretches += [(first, middle), (middle, stop)]
    return sorted(shifts, key=lambda shift: shift.place)
