"""Finds the best place of each change and its 95 % interval."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.segmentation.noise import NoiseEstimate
from perfledger_baselines.history.segmentation.two_sample_tests import REACH

# Of the interval of a change's place.
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """K places, each in a gap between its neighbours: [first, place) and [place, stop) of `row`."""

    row: IntArray
    first: IntArray
    place: IntArray
    stop: IntArray

    @classmethod
    def between(cls, row: IntArray, place: IntArray, *, count: int) -> Self:
        """Return the gap of each place, ordered by row: up to its neighbours or the row's ends."""
        first, stop = np.zeros_like(place), np.full_like(place, count)
        is_same = row[1:] == row[:-1]
        first[1:][is_same] = place[:-1][is_same]
        stop[:-1][is_same] = place[1:][is_same]
        return cls(row=row, first=first, place=place, stop=stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceLikelihoods:
    """Squared z, (K, W), of a step at place `first` + column; -inf where none is possible."""

    first: IntArray
    strength: FloatArray

    def best(self, row: IntArray) -> tuple[IntArray, IntArray]:
        """Return (rows, places), in order, of where the changes of these rows fit best.

        Two that fit best at the same place are merged.
        """
        if len(row) == 0:
            return row, self.first
        place = self.first + self.strength.argmax(axis=1)
        length = int(place.max()) + 1
        unique = np.unique(row * length + place)
        return unique // length, unique % length

    def interval(self) -> tuple[IntArray, IntArray]:
        """Return the (earliest, latest) place of each change with 95 % confidence, inclusive."""
        if len(self.first) == 0:
            return self.first, self.first
        earliest, latest = likely_places(self.strength)
        return self.first + earliest, self.first + latest


def likely_places(strength: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the (first, last) columns that hold 95 % of exp(z^2 / 2), of (K, W) squared z.

    The posterior of the place under a flat prior, without 2.5 % on either side (Yao, Annals of
    Statistics 12, 1984).
    """
    share = np.exp((strength - strength.max(axis=1, keepdims=True)) / 2)
    below = np.cumsum(share, axis=1)
    below /= below[:, -1:]
    outside = (1 - CONFIDENCE) / 2
    return (below > outside).argmax(axis=1), (below >= 1 - outside).argmax(axis=1)


def place_likelihoods(noise: NoiseEstimate, gaps: Gaps, *, fewest: int) -> PlaceLikelihoods:
    """Return the likelihood of a step at each place of each gap, by generalised least squares.

    The noise is AR(1); levels are whitened to innovations (Cochrane & Orcutt 1949). The innovation
    at the step contains all of it, later ones 1 - dependence of it. Each is divided by that factor,
    and the first one weighs more.
    """
    if len(gaps.row) == 0:
        return PlaceLikelihoods(first=gaps.place, strength=np.zeros((0, 1)))
    first = np.maximum(gaps.first, gaps.place - REACH)
    count = (np.minimum(gaps.stop, gaps.place + REACH) - first)[:, None]
    offset = np.arange(int(count.max()))
    is_outside = offset >= count
    levels = noise.cleaned[gaps.row[:, None], first[:, None] + np.minimum(offset, count - 1)]
    dependence = noise.dependence[gaps.row][:, None]
    extra = dependence / (1 - dependence)
    innovations = levels.copy()
    innovations[:, 1:] += extra * (levels[:, 1:] - levels[:, :-1])
    innovations[is_outside] = 0.0
    innovations -= innovations.sum(axis=1, keepdims=True) / count
    innovations[is_outside] = 0.0
    later = innovations - np.cumsum(
        innovations, axis=1
    )  # from each place on; all of them sum to zero
    remaining = count - offset
    weight = remaining + extra
    spread = weight + extra + extra**2 - weight**2 / count
    innovation = noise.sd[gaps.row][:, None] * np.sqrt((1 + dependence) / (1 - dependence))
    rise = later + extra * innovations
    strength = (rise / innovation) ** 2 / np.maximum(spread, 1 / count)
    here = np.take_along_axis(rise, (gaps.place - first)[:, None], axis=1)
    # A best fit in the other direction is a different change: this one is not moved there.
    strength[(offset < fewest) | (remaining < fewest) | (rise * here < 0)] = -np.inf
    return PlaceLikelihoods(first=first, strength=strength)
