"""The looks at growing data in, the level that each may be tested at out, and p-values over looks.

Alpha is spent over the looks (Lan & DeMets, "Discrete sequential boundaries for clinical trials",
Biometrika 70, 1983): by a share t of the planned pairs, alpha * sqrt(t) is spent. The square root
lies between Pocock's bounds, which stop early, and O'Brien & Fleming's, which keep the last look
sharp: half of alpha is gone after a quarter of the pairs, where most large changes are found.

At what level a look may test so that just this much is spent follows from how looks depend on each
other: sums of independent pairs are Brownian motion at the times t, and the chance to leave the
region in which nothing was decided is worked out look by look (Armitage, McPherson & Rowe 1969;
Jennison & Turnbull 2000, chapter 19). t tests are taken at the normal's levels. Ignoring the
dependence (Bonferroni over the looks) is valid too, and gives away nearly half of alpha.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from perfledger_baselines.looks import Looks

SPENDING_POWER = 0.5  # see above
# Gauss-Legendre nodes across the region where nothing is decided. The levels of 20 looks differ by
# less than 1e-7 (relative) from those with twice as many.
NODES = 61
# Levels of the whole test that p-values are worked out from, in between by interpolation of logs.
# Below the lowest the looks no longer overlap, and a level is the share that it may spend.
OVERALL_LEVELS = np.concatenate([np.logspace(-12, -1, 23), np.linspace(0.15, 0.995, 10)])
HALVINGS = 44  # of an interval of 40 standard errors: to 2e-12


def nominal_levels(looks: Looks, alpha: float) -> tuple[float, ...]:
    """Return the two-sided level of the test at each look taken; all together have alpha."""
    return _nominal_levels(_schedule(looks), alpha)[: len(looks.taken)]


def overall_p_values(p_values: NDArray[np.float64], looks: Looks) -> NDArray[np.float64]:
    """Return for each look the level of all looks at which it alone would just have decided.

    `p_values` is (looks, tests), of each look by itself; so is the result. The smallest of a test's
    over any of the looks taken is a p-value, valid at whichever look it stopped.
    """
    schedule = _schedule(looks)
    if len(schedule) == 1:
        return p_values
    levels, overall = _table(schedule)
    found = np.empty_like(p_values)
    with np.errstate(divide="ignore"):  # a p-value of 0 stays one
        logs: NDArray[np.float64] = np.log(p_values)
    for place in range(len(looks.taken)):
        here: NDArray[np.float64] = logs[place]
        known: NDArray[np.float64] = np.log(levels[place])
        inside = np.interp(here, known, np.log(overall))
        below = p_values[place] * (overall[0] / levels[place, 0])
        found[place] = np.where(here < known[0], below, np.exp(inside))
    return found


def _schedule(looks: Looks) -> tuple[int, ...]:
    """Return the numbers of pairs to reckon with; the last is where all of alpha is spent.

    What is spent at a look depends on the looks before it and on the last one planned alone, so
    that one schedule serves all checks that kept to the plan, wherever they stopped.
    """
    if looks.pairs in looks.planned:
        return looks.planned
    return (*looks.taken, looks.planned[-1])


@lru_cache(maxsize=1024)
def _nominal_levels(schedule: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    levels = _levels(schedule, np.array([alpha]))
    return tuple(float(level) for level in levels[:, 0])


@lru_cache(maxsize=256)
def _table(schedule: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the looks' levels, (looks, levels), for so many overall levels; ends in 1 and 1."""
    levels = _levels(schedule, OVERALL_LEVELS)
    ones = np.ones((len(schedule), 1))
    return np.hstack([levels, ones]), np.append(OVERALL_LEVELS, 1.0)


def _levels(schedule: tuple[int, ...], alphas: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nominal level of each look, (looks, alphas)."""
    times = np.array(schedule) / schedule[-1]
    spends = np.diff(times**SPENDING_POWER, prepend=0.0)[:, np.newaxis] * alphas
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    levels = np.empty_like(spends)
    places = np.zeros((len(alphas), 1))  # where the motion may be, and with what chance
    chances = np.ones((len(alphas), 1))
    for look, (before, now) in enumerate(zip((0.0, *times[:-1]), times, strict=True)):
        sd = np.sqrt(now - before)
        bound = _bound(places, chances, spends[look], sd=sd, time=now)
        levels[look] = 2 * ndtr(-bound / np.sqrt(now))
        reached = bound[:, np.newaxis] * nodes
        moves = (reached[:, :, np.newaxis] - places[:, np.newaxis, :]) / sd
        density = np.exp(-0.5 * moves**2) / (sd * np.sqrt(2 * np.pi))
        chances = (density @ chances[:, :, np.newaxis])[:, :, 0] * (bound[:, np.newaxis] * weights)
        places = reached
    return levels


def _bound(
    places: NDArray[np.float64],
    chances: NDArray[np.float64],
    spend: NDArray[np.float64],
    *,
    sd: float,
    time: float,
) -> NDArray[np.float64]:
    """Return the bound that is crossed, up or down, with the chance `spend`."""
    if places.shape[1] == 1:  # the first look: one step from zero
        first: NDArray[np.float64] = -ndtri(spend / 2) * sd
        return first
    low, high = np.zeros_like(spend), np.full_like(spend, 40 * np.sqrt(time))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        crossed = 2 * (chances * ndtr((places - middle[:, np.newaxis]) / sd)).sum(axis=1)
        low = np.where(crossed > spend, middle, low)
        high = np.where(crossed > spend, high, middle)
    return high
