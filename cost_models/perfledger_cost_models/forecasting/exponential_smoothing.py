"""Forecasts a series from each of its moments by exponential smoothing.

Damped-trend exponential smoothing with additive seasons, in its error-correction form (Gardner and
McKenzie 1985; Hyndman, Koehler, Ord and Snyder, *Forecasting with Exponential Smoothing*, 2008,
chapter 2):

    e = z - (l + phi b + s),   l' = l + phi b + alpha e,   b' = phi b + beta e,   s' = s + gamma e

The forecast of a moment uses only earlier values, so that it can be compared with later ones. Only
the seasons are initialised with the first two of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from perfledger_cost_models.arrays import FloatArray

# The weights to try. A hundred values cannot distinguish finer ones.
ALPHAS = (0.05, 0.15, 0.3, 0.5, 0.8)
BETA_SHARES = (0.0, 0.1, 0.3)  # of alpha; 0 is no trend at all
PHIS = (0.8, 0.95)  # undamped trends run away: Gardner, "Exponential smoothing", 2006, section 2.3
GAMMAS = (0.1, 0.3)
FIRST = 4  # values that set the first level if there are no seasons
MAX_FIRST_SEASONS = 2


@dataclass(frozen=True, slots=True)
class SmoothingWeights:
    """How fast each component of a model adapts; `season` is 0 for a model without seasons."""

    alpha: float
    beta: float
    phi: float
    gamma: float
    season: int

    def reach(self, horizon: int) -> FloatArray:
        """Return the standard deviation of each step ahead, relative to the first.

        The square root of 1 + c_1^2 + ... + c_(h-1)^2, with c_j = alpha + beta (phi + ... + phi^j),
        plus gamma if j is a multiple of the season (Hyndman et al. 2008, table 6.2).
        """
        steps = np.arange(1, horizon)
        responses = self.alpha + self.beta * np.cumsum(self.phi**steps)
        if self.season:
            responses = responses + self.gamma * (steps % self.season == 0)
        grown: FloatArray = np.sqrt(1 + np.concatenate([[0.0], np.cumsum(responses**2)]))
        return grown


# The last value repeated: the reference of all other models.
WALK = SmoothingWeights(alpha=1.0, beta=0.0, phi=PHIS[0], gamma=0.0, season=0)


def candidate_models(*, season: int) -> tuple[SmoothingWeights, ...]:
    """Return the models to try, with a season of a number of values; 0 is no season."""
    gammas = GAMMAS if season else (0.0,)
    return tuple(
        SmoothingWeights(alpha, alpha * share, phi, gamma, season)
        for alpha, share, phi, gamma in product(ALPHAS, BETA_SHARES, PHIS, gammas)
        if share or phi == PHIS[0]
    )


def first_seasons(count: int, *, season: int) -> int:
    """Return how many seasons initialise the model: all but the last, up to MAX_FIRST_SEASONS."""
    return min(count // season - 1, MAX_FIRST_SEASONS) if season else 0


def run_models(
    series: FloatArray, weights: Sequence[SmoothingWeights], *, horizon: int
) -> FloatArray:
    """Run models of one season length on a series of at least two seasons.

    Returns models x moments x horizon: the forecasts of each model from each moment.
    """
    season = weights[0].season
    alpha, beta, phi, gamma = (
        np.array([getattr(each, name) for each in weights])
        for name in ("alpha", "beta", "phi", "gamma")
    )
    level = np.full(len(weights), float(np.median(series[: season or FIRST])))
    trend = np.zeros(len(weights))
    seasons = np.tile(_seasons(series, season), (len(weights), 1))
    points = np.zeros((len(weights), len(series), horizon))
    damping = np.cumsum(phi[:, None] ** np.arange(1, horizon + 1), axis=1)
    ahead = np.arange(1, horizon + 1)
    width = seasons.shape[1]
    for index, value in enumerate(series):
        now = index % width
        error = value - (level + phi * trend + seasons[:, now])
        level = level + phi * trend + alpha * error
        trend = phi * trend + beta * error
        seasons[:, now] += gamma * error
        coming = seasons[:, (index + ahead) % width]
        points[:, index] = level[:, None] + damping * trend[:, None] + coming
    return points


def _seasons(series: FloatArray, season: int) -> FloatArray:
    """Return the mean pattern of the first seasons around their level, without drift."""
    if not season:
        return np.zeros(1)
    count = first_seasons(len(series), season=season)
    years = series[: count * season].reshape(count, season)
    levels = np.median(years, axis=1)
    drift = (levels[-1] - levels[0]) / season
    course = (years - levels[:, None]).mean(axis=0)
    course = course - drift * (np.arange(season) - (season - 1) / 2)
    # A single week is mostly noise: it is averaged with two weeks on each side.
    reach = season // 24
    shifted = [np.roll(course, shift) for shift in range(-reach, reach + 1)]
    smooth: FloatArray = np.stack(shifted).mean(axis=0)
    return smooth
