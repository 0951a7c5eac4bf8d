"""Spends alpha over the interim looks of a group-sequential test.

By a share t of the planned pairs, alpha * t**power is spent (Lan & DeMets, "Discrete sequential
boundaries for clinical trials", Biometrika 70, 1983). The looks say which power; usually it is 1/2.
The square root lies between Pocock's bounds, which stop early, and O'Brien & Fleming's, which keep
the last look powerful: half of alpha is spent after a quarter of the pairs, where most large
changes are found.

The level of each look that spends exactly this follows from the dependence of the looks: sums of
independent pairs are Brownian motion at the times t, and the chance of leaving the region in which
nothing was decided is computed look by look (Armitage, McPherson & Rowe 1969; Jennison & Turnbull
2000, chapter 19). t tests use the levels of the normal. Ignoring the dependence (Bonferroni over
the looks) would be valid too, but wastes nearly half of alpha.
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.significance.interim_looks import InterimLooks

# Equivalence spends alpha in proportion to the pairs. With the square root, the last look would be
# at too low a level for a check whose noise only just allows a proof. Of unchanged checks with 2 %
# of noise, .68 end unchanged by 40 pairs (square root: .58); those with 1 % take 13.0 pairs (12.6).
EQUIVALENCE_POWER = 1.0
# Gauss-Legendre nodes across the region where nothing is decided. The levels of 20 looks differ by
# less than 1e-7 (relative) from those with twice as many nodes.
NODES = 61
# Overall levels that p-values are computed from, with interpolation of logs in between. Below the
# lowest the looks no longer overlap, and the level of a look is its share of the overall level.
OVERALL_LEVELS = np.concatenate([np.logspace(-12, -1, 23), np.linspace(0.15, 0.995, 10)])
MAX_CACHED_LEVELS = 1024  # of schedules and levels: a family has one level for each test
HALVINGS = 44  # of an interval of 40 standard errors: to 2e-12


def nominal_levels(looks: InterimLooks, alpha: float) -> tuple[float, ...]:
    """Return the two-sided test level at each completed look; together the looks spend alpha."""
    return _nominal_levels(_schedule(looks), alpha, looks.power)[: len(looks.completed)]


def equivalence_level(looks: InterimLooks, alpha: float) -> float:
    """Return the level of each of two one-sided tests at the last completed look.

    Over all looks, each of the two rejects a true bound with a probability of at most alpha.
    """
    two_sided_levels = _nominal_levels(_schedule(looks), 2 * alpha, EQUIVALENCE_POWER)
    return two_sided_levels[len(looks.completed) - 1] / 2


def overall_p_values(p_values: FloatArray, looks: InterimLooks) -> FloatArray:
    """Return for each look the overall level at which it alone would just have rejected.

    `p_values` is (looks, tests), each look taken by itself; so is the result. A test's smallest
    value over any of the completed looks is a p-value, valid at whichever look it stopped.
    """
    schedule = _schedule(looks)
    if len(schedule) == 1:
        return p_values
    levels, overall = _table(schedule, looks.power)
    result = np.empty_like(p_values)
    with np.errstate(divide="ignore"):  # a p-value of 0 stays one
        logs: FloatArray = np.log(p_values)
    for index in range(len(looks.completed)):
        here: FloatArray = logs[index]
        nominal: FloatArray = np.log(levels[index])
        inside = np.interp(here, nominal, np.log(overall))
        below = p_values[index] * (overall[0] / levels[index, 0])
        result[index] = np.where(here < nominal[0], below, np.exp(inside))
    return result


def _schedule(looks: InterimLooks) -> tuple[int, ...]:
    """Return the numbers of pairs of all looks; at the last one all of alpha is spent.

    What a look spends depends only on the looks before it and on the last planned one, so that one
    schedule serves all checks that followed the plan, wherever they stopped.
    """
    if looks.pairs in looks.planned:
        return looks.planned
    return (*looks.completed, looks.planned[-1])


@lru_cache(maxsize=MAX_CACHED_LEVELS)
def _nominal_levels(schedule: tuple[int, ...], alpha: float, power: float) -> tuple[float, ...]:
    levels = _levels(schedule, np.array([alpha]), power)
    return tuple(float(level) for level in levels[:, 0])


@lru_cache
def _table(schedule: tuple[int, ...], power: float) -> tuple[FloatArray, FloatArray]:
    """Return each look's levels, (looks, levels), and the overall levels they belong to."""
    levels = _levels(schedule, OVERALL_LEVELS, power)
    ones = np.ones((len(schedule), 1))
    return np.hstack([levels, ones]), np.append(OVERALL_LEVELS, 1.0)


def _levels(schedule: tuple[int, ...], alphas: FloatArray, power: float) -> FloatArray:
    """Return the nominal level of each look, (looks, alphas); alpha * time**power is spent."""
    times = np.array(schedule) / schedule[-1]
    spent = np.diff(times**power, prepend=0.0)[:, np.newaxis] * alphas
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    levels = np.empty_like(spent)
    positions = np.zeros((len(alphas), 1))  # of the motion, each with its probability
    probabilities = np.ones((len(alphas), 1))
    for look, (earlier, time) in enumerate(zip((0.0, *times[:-1]), times, strict=True)):
        sd = np.sqrt(time - earlier)
        bound = _bound(positions, probabilities, spent[look], sd=sd, time=time)
        levels[look] = 2 * ndtr(-bound / np.sqrt(time))
        reached = bound[:, np.newaxis] * nodes
        moves = (reached[:, :, np.newaxis] - positions[:, np.newaxis, :]) / sd
        density = np.exp(-0.5 * moves**2) / (sd * np.sqrt(2 * np.pi))
        probabilities = (density @ probabilities[:, :, np.newaxis])[:, :, 0] * (
            bound[:, np.newaxis] * weights
        )
        positions = reached
    return levels


def _bound(
    positions: FloatArray, probabilities: FloatArray, spend: FloatArray, *, sd: float, time: float
) -> FloatArray:
    """Return the bound that is crossed, up or down, with probability `spend`."""
    if positions.shape[1] == 1:  # the first look: one step from zero
        return -ndtri(spend / 2) * sd
    low, high = np.zeros_like(spend), np.full_like(spend, 40 * np.sqrt(time))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        crossed = 2 * (probabilities * ndtr((positions - middle[:, np.newaxis]) / sd)).sum(axis=1)
        low = np.where(crossed > spend, middle, low)
        high = np.where(crossed > spend, high, middle)
    return high
