"""Backtests forecasts: repeats them at earlier moments, and compares them with what happened.

The pinball loss of a quantile x is q (y - x) for an outcome y above it, and (1 - q) (x - y) below.
A smaller mean over quantiles is a closer forecast (Gneiting and Raftery 2007). The reference is the
seasonal naive forecast: the same as a year before, with the spread between years.
"""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.forecasting.exponential_smoothing import FloatArray
from perfledger_cost_models.forecasting.sample_paths import MIN_PERIODS, sample_paths
from perfledger_cost_models.forecasting.seasonal_naive import seasonal_naive

LOSS_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# Earlier moments to forecast from: each takes a complete forecast.
MAX_ORIGINS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The accuracy of earlier forecasts; losses are shares of the mean amount."""

    origins: int
    periods: int  # over all origins
    inside: int  # periods in the 80 % interval
    loss: float
    naive_loss: float

    @property
    def coverage(self) -> float:
        """Return the share of periods in the 80 % interval."""
        return self.inside / self.periods


def backtest(series: FloatArray, *, horizon: int, season: int) -> Backtest | None:
    """Forecast from each of the last moments; None for too short a series.

    Each forecast uses only earlier data; its weights and stretch are fitted again.
    """
    count = len(series)
    first = max(MIN_PERIODS, count - MAX_ORIGINS)
    came: list[FloatArray] = []
    predictions: list[FloatArray] = []
    naive: list[FloatArray] = []
    for origin in range(first, count):
        ahead = min(horizon, count - origin, origin // 2)
        paths = sample_paths(series[:origin], horizon=ahead, season=season)
        predictions.append(np.quantile(paths.paths, LOSS_QUANTILES, axis=0))
        naive.append(
            seasonal_naive(series[:origin], horizon=ahead, season=season, shares=LOSS_QUANTILES)
        )
        came.append(series[origin : origin + ahead])
    if not came:
        return None
    outcomes = np.concatenate(came)
    quantiles = np.concatenate(predictions, axis=1)
    scale = float(series.mean()) or 1.0
    return Backtest(
        origins=count - first,
        periods=len(outcomes),
        inside=int(is_inside(outcomes, quantiles).sum()),
        loss=pinball(outcomes, quantiles) / scale,
        naive_loss=pinball(outcomes, np.concatenate(naive, axis=1)) / scale,
    )


def is_inside(outcomes: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return 1 for outcomes in the 80 % interval, the outermost LOSS_QUANTILES, else 0."""
    inside: FloatArray = ((quantiles[0] <= outcomes) & (outcomes <= quantiles[-1])).astype(float)
    return inside


def pinball(outcomes: FloatArray, quantiles: FloatArray) -> float:
    """Return the mean pinball loss of LOSS_QUANTILES x outcomes, in the outcomes' unit."""
    shares = np.array(LOSS_QUANTILES)[:, None]
    more = outcomes - quantiles
    return float(np.maximum(shares * more, (shares - 1) * more).mean())
