"""Finds past periods far from their neighbours, such as typing errors and doubled exports.

The Hampel identifier (Davies and Gather, "The identification of multiple outliers", JASA 88, 1993)
on the logarithms of daily amounts: a period is compared with the median of those around it, in
units of the median absolute deviation of all such differences. With years before or after, it must
be as far from the same period of each of them, so that a season's peak is none.
"""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.arrays import BoolArray, FloatArray

# Periods on each side: a level that lasts for longer is no outlier.
_REACH = 3
# Scaled median absolute deviations beyond which a value is an outlier. The factor 0.6745 makes them
# standard deviations of a normal: Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993.
_MAX_SCORE = 3.5
_MAD_OF_NORMAL = 0.6745
# A smaller change is growth, however steady the history is; a doubled export is above it.
MIN_FOLD = 1.5
_MIN_SHARE = 1e-3  # of the median: the lower bound of amounts before a logarithm


@dataclass(frozen=True, slots=True)
class PeriodOutlier:
    """A period far from its neighbours; amounts a day, in the history's unit."""

    index: int
    daily: float
    usual_daily: float  # the median of it and up to three periods on each side

    @property
    def fold(self) -> float:
        """Return the amount over the usual one."""
        return self.daily / self.usual_daily


def outliers_of(daily: FloatArray, *, season: int) -> tuple[PeriodOutlier, ...]:
    """Return the periods whose amount a day is far from the others; `season` periods are a year."""
    middle = float(np.median(daily)) if len(daily) else 0.0
    if middle <= 0:
        return ()
    logs = np.log(np.maximum(daily, middle * _MIN_SHARE))
    usual = np.array([_usual(logs, index) for index in range(len(logs))])
    is_far = _is_far(logs - usual)
    if season and len(logs) > season:
        years = logs[season:] - logs[:-season]
        is_change = _is_far(years - np.median(years))
        is_far[season:] &= is_change
        is_far[:-season] &= is_change
    return tuple(
        PeriodOutlier(int(index), float(daily[index]), float(np.exp(usual[index])))
        for index in np.flatnonzero(is_far)
    )


def without_outliers(daily: FloatArray, outliers: tuple[PeriodOutlier, ...]) -> FloatArray:
    """Return the amounts with the usual one in the place of each outlier's."""
    replaced = daily.copy()
    for outlier in outliers:
        replaced[outlier.index] = outlier.usual_daily
    return replaced


def _usual(logs: FloatArray, index: int) -> float:
    return float(np.median(logs[max(0, index - _REACH) : index + _REACH + 1]))


def _is_far(differences: FloatArray) -> BoolArray:
    """Return which differences of logarithms are too large for chance, and for growth."""
    deviation = float(np.median(np.abs(differences))) / _MAD_OF_NORMAL
    limit = max(_MAX_SCORE * deviation, float(np.log(MIN_FOLD)))
    far: BoolArray = np.abs(differences) > limit
    return far
