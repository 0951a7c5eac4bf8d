"""Rows of levels in, those that switch between two states out, with the states taken off.

Two clock states look like dependent noise with large steps. Known for what they are they cost a
search nothing: within a state the noise is small, and a step moves both states.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_baselines.history.noise import SMALLEST_SPREAD

# First differences tell two states from one, whatever steps there are: most are small, the others
# all about as large as each other, and few lie between. The quiet ones show in a low quantile.
QUIET_QUANTILE, QUIET_OF_GAUSSIAN = 0.3, 0.5449

# A switch is a difference beyond so many of the quiet kind's SDs; noise rarely gets there.
SWITCH_SPREADS = 2.5

# So many switches at least, and such a share of all differences: fewer are spikes or steps.
FEWEST_SWITCHES, SMALLEST_SHARE = 6, 0.08

# States nearer than this, in SDs of a quiet difference, cannot be told apart in a short series, and
# cost a search little.
SMALLEST_DISTANCE = 3.6

# Of the switches a share lies this near the median one: the more the further apart the states are,
# as noise then blurs their distance less. Tails and spikes spread further.
NEAR_MEDIAN = 0.3
CONCENTRATED, MORE_CONCENTRATED, MOST_CONCENTRATED = 0.4, 0.05, 0.85

# At the median switch, differences are so many times as dense as half-way to it. Gaussian noise has
# a quarter, t(3) tails and bursts at most half. It is sure one standard error of the counts
# to the bad side, and may be so where the counts themselves say it.
DENSER = 0.45

# So many changes in a row, each taking the last one back but for such a share of it, are switches.
FEWEST_TURNS, SAME_DISTANCE = 4, 0.4

# Between them lie so many observations, in the median, at most: what holds for longer is a level
# that people live with, even if it comes back.
LONGEST_STAY = 15

# Levels that are tried lie half an SD apart, or as far as so many of them make it.
GRID_SPREADS, LARGEST_GRID = 0.5, 400

# A level further from both states than so many SDs is a spike, and counts as just so far.
CAP_SPREADS = 3.0

# What a step of the level costs, in squared SDs: 3 log N for 100 observations.
STEP_PENALTY = 14.0


@dataclass(frozen=True, slots=True)
class Guess:
    """How far apart two states of a row are, and whether it surely has them."""

    distance: float
    is_sure: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoStates:
    """One row in two states: which observations are in the upper, and the levels without it."""

    is_upper: NDArray[np.bool_]
    distance: float
    levels: NDArray[np.float64]


def guess_states(levels: NDArray[np.float64]) -> dict[int, Guess]:
    """Return by number those of (R, N) rows that have two states, or may have."""
    count = levels.shape[1] - 1
    ordered = np.sort(np.abs(np.diff(levels, axis=1)), axis=1)
    quiet = np.maximum(ordered[:, int(QUIET_QUANTILE * count)] / QUIET_OF_GAUSSIAN, SMALLEST_SPREAD)
    stay = (ordered <= SWITCH_SPREADS * quiet[:, None]).sum(axis=1)
    switches = count - stay
    typical = ordered[np.arange(len(levels)), np.minimum((stay + count) // 2, count - 1)]
    apart = typical / quiet
    may_be = (switches >= max(FEWEST_SWITCHES, SMALLEST_SHARE * count)) & (
        apart >= SMALLEST_DISTANCE
    )
    guesses: dict[int, Guess] = {}
    for row in np.flatnonzero(may_be).tolist():
        distance = float(typical[row])
        concentrated = CONCENTRATED + MORE_CONCENTRATED * (float(apart[row]) - SMALLEST_DISTANCE)
        near = _between(ordered[row], (1 - NEAR_MEDIAN) * distance, (1 + NEAR_MEDIAN) * distance)
        is_alike = near >= min(concentrated, MOST_CONCENTRATED) * switches[row]
        if is_alike and _has_two_kinds(ordered[row], distance, errors=0.0):
            is_sure = _has_two_kinds(ordered[row], distance, errors=1.0)
            guesses[row] = Guess(distance, is_sure=is_sure)
    return guesses


def separate_states(levels: NDArray[np.float64], *, distance: float) -> TwoStates:
    """Return the states of one row (N,), fitted at the least cost with a level that steps.

    Each observation is in the nearer of two states `distance` apart, on a level that is constant
    but for steps, of which each costs STEP_PENALTY: a Potts functional (Storath & Weinmann 2014),
    minimised exactly on a grid of levels. The distance is then taken anew from what is left over.
    """
    quiet = np.sort(np.abs(np.diff(levels)))[int(QUIET_QUANTILE * (len(levels) - 1))]
    spread = max(float(quiet) / QUIET_OF_GAUSSIAN / np.sqrt(2), SMALLEST_SPREAD)
    is_upper = np.zeros(len(levels), dtype=np.bool_)
    for _ in range(2):
        above = levels - _fit(levels, distance=distance, spread=spread)
        is_upper = above > distance / 2
        off = above - np.where(is_upper, distance, 0.0)
        is_near = np.abs(off) < CAP_SPREADS * spread
        upper, lower = off[is_upper & is_near], off[~is_upper & is_near]
        if len(upper) > 0 and len(lower) > 0:
            distance += float(upper.mean() - lower.mean())
    return TwoStates(
        is_upper=is_upper, distance=distance, levels=levels - np.where(is_upper, distance, 0.0)
    )


def alternation(places: Sequence[int], steps: Sequence[float]) -> float:
    """Return the distance between two levels that steps at these places go to and fro; else 0.

    States that switch rarely look like changes, one after the other, each taking the last one back.
    """
    sizes = np.abs(steps)
    if len(sizes) < FEWEST_TURNS or np.median(np.diff(places)) > LONGEST_STAY:
        return 0.0
    back = np.abs(np.asarray(steps[1:]) + np.asarray(steps[:-1]))
    is_alike = back < SAME_DISTANCE * np.minimum(sizes[1:], sizes[:-1])
    return float(np.median(sizes)) if is_alike.all() else 0.0


def place_costs(
    levels: NDArray[np.float64], *, distance: float, before: float, after: float, sd: float
) -> NDArray[np.float64]:
    """Return (N + 1,): how badly a step at each place fits, in squared SDs, whatever the states.

    Before it each of (N,) levels is in a state over `before`, from it on in one over `after`. Where
    the step is nearly as large as the distance, a lower state after it looks like an upper one
    before: states that were taken off first would feign to know which.
    """
    costs = np.zeros((2, len(levels) + 1))
    for number, level in enumerate((before, after)):
        off = (levels - level) / sd
        nearest = np.minimum(off**2, (off - distance / sd) ** 2)
        np.cumsum(np.minimum(nearest, CAP_SPREADS**2), out=costs[number, 1:])
    total: NDArray[np.float64] = costs[0] + costs[1, -1] - costs[1]
    return total


def _has_two_kinds(ordered: NDArray[np.float64], distance: float, *, errors: float) -> bool:
    """Return whether differences between the kinds are rare, by so many standard errors."""
    near = _between(ordered, 0.8 * distance, 1.2 * distance)
    half_way = _between(ordered, 0.45 * distance, 0.65 * distance)
    density = (near - errors * near**0.5) / 0.4
    thin = (half_way + errors * half_way**0.5) / 0.2
    return bool(density >= DENSER * thin)


def _between(ordered: NDArray[np.float64], low: float, high: float) -> int:
    first, stop = np.searchsorted(ordered, (low, high)).tolist()
    return int(stop - first)


def _fit(levels: NDArray[np.float64], *, distance: float, spread: float) -> NDArray[np.float64]:
    low, high = float(levels.min()) - distance, float(levels.max())
    size = min(int((high - low) / (GRID_SPREADS * spread)) + 2, LARGEST_GRID)
    grid = np.linspace(low, high, size)
    costs = ((levels[:, None] - grid) / spread, (levels[:, None] - grid - distance) / spread)
    return grid[
        _cheapest_path(np.minimum(np.minimum(costs[0] ** 2, costs[1] ** 2), CAP_SPREADS**2))
    ]


def _cheapest_path(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each of N observations which of G levels it is on, at the least cost, (N, G)."""
    total = np.zeros(costs.shape[1])
    came_from = np.empty(len(costs), dtype=np.int64)
    has_stepped = np.empty(costs.shape, dtype=np.bool_)
    for index, cost in enumerate(costs):
        best = total.argmin()
        came_from[index] = best
        stepped = total[best] + STEP_PENALTY
        np.greater(total, stepped, out=has_stepped[index])
        np.minimum(total, stepped, out=total)
        total += cost
    chosen = np.empty(len(costs), dtype=np.int64)
    at = int(total.argmin())
    for index in range(len(costs) - 1, -1, -1):
        chosen[index] = at
        if has_stepped[index, at]:
            at = int(came_from[index])
    return chosen
