"""A series into what it was a year before: as models of it, and as the naive forecast."""

from collections.abc import Sequence

import numpy as np

from perfledger_cost_models.smoothing import FloatArray

MAX_AMOUNT = 1e15  # of a history, and of what it is taken to lead to
# Years that have to differ before the median of their differences is taken for a growth.
_FEWEST = 3
_LEAST_SHARE = 1e-3  # of the mean: what stands for nothing where a logarithm is taken


def year_before(logs: FloatArray, *, horizon: int, season: int, is_growing: bool) -> FloatArray:
    """Return moments x horizon: what was a year before, and grown as years did in the middle.

    What is said at a moment rests on nothing that came after it; nan where too little had come.
    """
    places = np.arange(horizon)
    found = np.full((len(logs), horizon), np.nan)
    first = season + _FEWEST - 1 if is_growing else season - 1
    for moment in range(first, len(logs)):
        grown = 0.0
        if is_growing:
            grown = float(np.median(logs[season : moment + 1] - logs[: moment + 1 - season]))
        year = logs[moment + 1 - season + places % season]
        found[moment] = year + grown * (places // season + 1)
    return found


def year_reach(*, horizon: int, season: int) -> FloatArray:
    """Return how far off each step ahead is, in standard deviations of the first: as years walk."""
    reach: FloatArray = np.sqrt(np.arange(horizon) // season + 1.0)
    return reach


def seasonal_naive(
    series: FloatArray, *, horizon: int, season: int, shares: Sequence[float]
) -> FloatArray:
    """Return quantiles at shares x horizon: as a year before, and as far off as years differed.

    Before there are two years the last amount stands for it, and steps spread as a random walk's.
    """
    if not series.any():
        return np.zeros((len(shares), horizon))
    lag = season if season and len(series) >= 2 * season else 1
    logs = np.log(np.maximum(series, float(series.mean()) * _LEAST_SHARE))
    steps = np.arange(horizon)
    spread = np.quantile(logs[lag:] - logs[:-lag], shares)[:, None]
    found = logs[len(series) - lag + steps % lag] + spread * np.sqrt(steps // lag + 1)
    amounts: FloatArray = np.exp(np.minimum(found, np.log(MAX_AMOUNT)))
    return amounts
