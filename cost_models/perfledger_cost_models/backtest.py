"""Forecasts made again at earlier moments into how often, and how closely, they held what came.

The pinball loss of a quantile is q (y - x) where more came and (1 - q) (x - y) where less did; the
smaller its mean over quantiles, the closer was the forecast (Gneiting and Raftery 2007). Beside it
stands that of the seasonal naive one: as much as a year before, and as far off as years differed.
"""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.paths import MIN_PERIODS, paths_of
from perfledger_cost_models.smoothing import FloatArray
from perfledger_cost_models.year_before import seasonal_naive

LOSS_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# Earlier moments that are gone back to: each takes a whole forecast.
MAX_ORIGINS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """How earlier forecasts came true; losses are shares of the mean amount."""

    origins: int
    told: int  # periods, over all origins
    inside: int  # of those, in the 80 % interval
    loss: float
    naive_loss: float

    @property
    def coverage(self) -> float:
        """Return the share that lay in the 80 % interval."""
        return self.inside / self.told


def backtest(series: FloatArray, *, horizon: int, season: int) -> Backtest | None:
    """Forecast from each of the last moments with what was known then; None for too short a series.

    Nothing of what came later is known to any of them: weights and stretch are found anew.
    """
    count = len(series)
    first = max(MIN_PERIODS, count - MAX_ORIGINS)
    came: list[FloatArray] = []
    told: list[FloatArray] = []
    naive: list[FloatArray] = []
    for known in range(first, count):
        ahead = min(horizon, count - known, known // 2)
        paths = paths_of(series[:known], horizon=ahead, season=season)
        told.append(np.quantile(paths.drawn, LOSS_QUANTILES, axis=0))
        naive.append(
            seasonal_naive(series[:known], horizon=ahead, season=season, shares=LOSS_QUANTILES)
        )
        came.append(series[known : known + ahead])
    if not came:
        return None
    outcomes = np.concatenate(came)
    quantiles = np.concatenate(told, axis=1)
    scale = float(series.mean()) or 1.0
    return Backtest(
        origins=count - first,
        told=len(outcomes),
        inside=int(is_inside(outcomes, quantiles).sum()),
        loss=pinball(outcomes, quantiles) / scale,
        naive_loss=pinball(outcomes, np.concatenate(naive, axis=1)) / scale,
    )


def is_inside(outcomes: FloatArray, quantiles: FloatArray) -> FloatArray:
    """Return 1 for what lies in the 80 % interval, the outermost of LOSS_QUANTILES, else 0."""
    inside: FloatArray = ((quantiles[0] <= outcomes) & (outcomes <= quantiles[-1])).astype(float)
    return inside


def pinball(outcomes: FloatArray, quantiles: FloatArray) -> float:
    """Return the mean pinball loss of LOSS_QUANTILES x outcomes, in the outcomes' unit."""
    shares = np.array(LOSS_QUANTILES)[:, None]
    more = outcomes - quantiles
    return float(np.maximum(shares * more, (shares - 1) * more).mean())
