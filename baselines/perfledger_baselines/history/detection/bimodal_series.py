"""Separates two states that a series switches between, such as clock states.

Two states look like dependent noise with large steps. Once separated they no longer disturb a
search: within a state the noise is small, and a step moves both states.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray
from perfledger_baselines.history.segmentation.noise import MIN_SPREAD
from perfledger_baselines.history.segmentation.robust_levels import cheapest_path

# First differences show two states, whatever steps there are: most are small, the others are nearly
# all of one size, and few lie in between. A low quantile shows the small ones.
QUIET_QUANTILE, QUIET_OF_GAUSSIAN = 0.3, 0.5449

# A switch is a difference beyond this many SDs of the small ones; noise rarely gets there.
SWITCH_SPREADS = 2.5

# Fewest switches, and their smallest share of all differences: fewer are spikes or steps.
MIN_SWITCHES, MIN_SHARE = 6, 0.08

# States closer than this, in SDs of a small difference, cannot be separated in a short series, and
# do little harm.
MIN_DISTANCE = 3.6

# Most switches must lie this close to the median one. The share that must grows with the distance
# of the states, as noise then blurs a switch less. Tails and spikes are more spread out.
NEAR_MEDIAN = 0.3
CONCENTRATED, MORE_CONCENTRATED, MOST_CONCENTRATED = 0.4, 0.05, 0.85

# The density of differences at the median switch, relative to that half-way to it, must be at least
# this. Gaussian noise has a quarter, t(3) tails and bursts at most half. The ranges are multiples
# of that switch.
DENSER = 0.45
AT_SWITCH, HALF_WAY = (0.8, 1.2), (0.45, 0.65)

# Levels that are twice the states' distance apart, to within this share of that distance, are
# digits of coarse readings. The tolerance allows for the scale of logs.
DIGIT_TOLERANCE = 0.1

# Fewest consecutive changes that count as switches, each reverting the last one except for this
# share of it.
MIN_TURNS, SAME_DISTANCE = 4, 0.4

# Most observations between them, in the median: a longer stretch is a level, even if the series
# comes back.
MAX_STAY = 15

# Levels of the fit are half an SD apart, or further if that would give more levels than this.
GRID_SPREADS, MAX_GRID = 0.5, 400

# A level further than this many SDs from both states is a spike, and counts as this far away.
CAP_SPREADS = 3.0

# What a step of the level costs, in squared SDs: 3 log N for 100 observations.
STEP_PENALTY = 14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BimodalRow:
    """A row in two states: the observations in the upper one, and the levels without states."""

    is_upper: BoolArray
    distance: float
    levels: FloatArray


def guess_states(levels: FloatArray) -> dict[int, float]:
    """Return the distance between two states by row number, for (R, N) rows that may have them."""
    count = levels.shape[1] - 1
    ordered = np.sort(np.abs(levels[:, 1:] - levels[:, :-1]), axis=1)
    quiet = np.maximum(ordered[:, int(QUIET_QUANTILE * count)] / QUIET_OF_GAUSSIAN, MIN_SPREAD)
    stay = (ordered <= SWITCH_SPREADS * quiet[:, None]).sum(axis=1)
    switches = count - stay
    typical = ordered[np.arange(len(levels)), np.minimum((stay + count) // 2, count - 1)]
    apart = typical / quiet
    may_be = (switches >= max(MIN_SWITCHES, MIN_SHARE * count)) & (apart >= MIN_DISTANCE)
    guesses: dict[int, float] = {}
    for row in np.flatnonzero(may_be).tolist():
        distance = float(typical[row])
        concentrated = CONCENTRATED + MORE_CONCENTRATED * (float(apart[row]) - MIN_DISTANCE)
        near = _count_between(
            ordered[row], (1 - NEAR_MEDIAN) * distance, (1 + NEAR_MEDIAN) * distance
        )
        is_alike = near >= min(concentrated, MOST_CONCENTRATED) * switches[row]
        is_coarse = quiet[row] <= MIN_SPREAD and _has_third(levels[row], distance)
        if is_alike and not is_coarse and _has_two_kinds(ordered[row], distance):
            guesses[row] = distance
    return guesses


def separate_states(levels: FloatArray, *, distance: float) -> BimodalRow:
    """Return the states of one row (N,), fitted at the least cost with a level that steps.

    Each observation is in the nearer of two states `distance` apart, on a level that is constant
    except for steps, each at a cost of STEP_PENALTY: a Potts functional (Storath & Weinmann 2014),
    minimised exactly on a grid of levels. The distance is then estimated again from the residuals.
    """
    quiet = np.sort(np.abs(np.diff(levels)))[int(QUIET_QUANTILE * (len(levels) - 1))]
    spread = max(float(quiet) / QUIET_OF_GAUSSIAN / np.sqrt(2), MIN_SPREAD)
    is_upper = np.zeros(len(levels), dtype=np.bool_)
    for _ in range(2):
        above = levels - _fit(levels, distance=distance, spread=spread)
        is_upper = above > distance / 2
        off = above - np.where(is_upper, distance, 0.0)
        is_near = np.abs(off) < CAP_SPREADS * spread
        upper, lower = off[is_upper & is_near], off[~is_upper & is_near]
        if upper.size and lower.size:
            distance += float(upper.mean() - lower.mean())
    return BimodalRow(
        is_upper=is_upper, distance=distance, levels=levels - np.where(is_upper, distance, 0.0)
    )


def alternation(places: Sequence[int], steps: Sequence[float]) -> float:
    """Return the distance of two levels between which the steps alternate; 0 if they do not.

    States that switch rarely look like changes that each revert the one before.
    """
    stays = [later - earlier for earlier, later in pairwise(places)]
    if len(steps) < MIN_TURNS or median(stays) > MAX_STAY:
        return 0.0
    is_alike = all(
        abs(there + back) < SAME_DISTANCE * min(abs(there), abs(back))
        for there, back in pairwise(steps)
    )
    return median(map(abs, steps)) if is_alike else 0.0


def place_costs(
    levels: FloatArray, *, distance: float, before: float, after: float, sd: float
) -> FloatArray:
    """Return (N + 1,): the cost of a step at each place, in squared SDs, whatever the states.

    Before it each of (N,) levels is in one of two states based at `before`, from it on in one of
    two based at `after`. If the step is nearly as large as the distance, a lower state after it
    looks like an upper one before it; separating the states first would presume which it is.
    """
    costs = np.zeros((2, len(levels) + 1))
    for number, level in enumerate((before, after)):
        off = (levels - level) / sd
        nearest = np.minimum(off**2, (off - distance / sd) ** 2)
        np.cumsum(np.minimum(nearest, CAP_SPREADS**2), out=costs[number, 1:])
    total: FloatArray = costs[0] + costs[1, -1] - costs[1]
    return total


def _has_two_kinds(ordered: FloatArray, distance: float) -> bool:
    """Return whether differences between the two kinds are rare."""
    near, half_way = (
        _count_between(ordered, low * distance, high * distance) / (high - low)
        for low, high in (AT_SWITCH, HALF_WAY)
    )
    return near >= DENSER * half_way


def _has_third(levels: FloatArray, distance: float) -> bool:
    """Return whether two levels are twice the distance apart, as with coarsely rounded readings.

    Two states that agree to the last digit never are, unless a step equals their own distance.
    """
    values = np.unique(levels)
    first, stop = (
        np.searchsorted(values, values + (2 + off) * distance)
        for off in (-DIGIT_TOLERANCE, DIGIT_TOLERANCE)
    )
    return bool((first < stop).any())


def _count_between(ordered: FloatArray, low: float, high: float) -> int:
    first, stop = np.searchsorted(ordered, (low, high)).tolist()
    return int(stop - first)


def _fit(levels: FloatArray, *, distance: float, spread: float) -> FloatArray:
    low, high = float(levels.min()) - distance, float(levels.max())
    size = min(int((high - low) / (GRID_SPREADS * spread)) + 2, MAX_GRID)
    grid = np.linspace(low, high, size)
    # For states far apart in little noise, no level is nearer to the grid than its spacing allows.
    spread = max(spread, (high - low) / (size - 1))
    costs = ((levels[:, None] - grid) / spread, (levels[:, None] - grid - distance) / spread)
    nearest = np.minimum(np.minimum(costs[0] ** 2, costs[1] ** 2), CAP_SPREADS**2)
    return grid[cheapest_path(nearest, np.full(len(levels), STEP_PENALTY))]
