"""Forecasts a series by its values of a year before."""

from collections.abc import Sequence

import numpy as np

from perfledger_cost_models.arrays import FloatArray

MAX_AMOUNT = 1e15  # of a history and of its forecast
# Differences between years that their median, the growth, needs.
_MIN_DIFFERENCES = 3
_MIN_SHARE = 1e-3  # of the mean: the lower bound of amounts before a logarithm


def same_period_last_year(
    logs: FloatArray, *, horizon: int, season: int, is_growing: bool
) -> FloatArray:
    """Return moments x horizon: the values of a year before, with the median growth if growing.

    The forecast from a moment uses only earlier values; it is nan if there are too few.
    """
    places = np.arange(horizon)
    levels = np.full((len(logs), horizon), np.nan)
    first = season + _MIN_DIFFERENCES - 1 if is_growing else season - 1
    for moment in range(first, len(logs)):
        grown = 0.0
        if is_growing:
            grown = float(np.median(logs[season : moment + 1] - logs[: moment + 1 - season]))
        year = logs[moment + 1 - season + places % season]
        levels[moment] = year + grown * (places // season + 1)
    return levels


def seasonal_spread(*, horizon: int, season: int) -> FloatArray:
    """Return the relative standard deviation of each step: a random walk of years."""
    reach: FloatArray = np.sqrt(np.arange(horizon) // season + 1.0)
    return reach


def naive_lag(count: int, *, season: int) -> int:
    """Return how many periods ago the naive forecast's values are from: a year with two years."""
    return season if season and count >= 2 * season else 1


def seasonal_naive(
    series: FloatArray, *, horizon: int, season: int, shares: Sequence[float]
) -> FloatArray:
    """Return quantiles at shares x horizon: the year before, with the spread between years.

    With less than two years the last amount is repeated, with the spread of a random walk.
    """
    if not series.any():
        return np.zeros((len(shares), horizon))
    lag = naive_lag(len(series), season=season)
    logs = np.log(np.maximum(series, float(series.mean()) * _MIN_SHARE))
    steps = np.arange(horizon)
    spread = np.quantile(logs[lag:] - logs[:-lag], shares)[:, None]
    quantile_logs = logs[len(series) - lag + steps % lag] + spread * np.sqrt(steps // lag + 1)
    amounts: FloatArray = np.exp(np.minimum(quantile_logs, np.log(MAX_AMOUNT)))
    return amounts
