"""A series of amounts into paths that it may take, spread as wide as earlier forecasts missed.

A mixture of models of the logarithm gives the middle. How wide paths spread is set by conformal
calibration (Vovk, Gammerman and Shafer 2005; Lei et al. 2018): from each earlier moment the same
forecast is made of what was known then, and the interval is as wide as holds so many of those
misses as should be. Both are moved a part of the way to those of the seasonal naive forecast.
"""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.draws import SEED
from perfledger_cost_models.mixture import Mixture, mixture_of
from perfledger_cost_models.smoothing import FloatArray
from perfledger_cost_models.year_before import MAX_AMOUNT, seasonal_naive

PATHS = 4000  # the ends of an 80 % interval then hold to about a hundredth of its width
COVERAGE = 0.8  # of the interval that is calibrated
MIN_PERIODS = 12  # fewer tell nothing of how far off a forecast is
MAX_PERIODS = 2000  # forty years of weeks
MAX_HORIZON = 104  # two years of weeks
MAX_ORIGINS = 200  # the last earlier forecasts that are held against what came
# Of the mean, added before the logarithm is taken, so that an empty period has one, too.
FLOOR_SHARE = 0.1
# Earlier forecasts that the errors of one step stand for: few misses lie together by chance.
ONE_STEP_ORIGINS = 20
# Of the seasonal naive forecast: means of quantiles are closer than either (Lichtendahl,
# Grushka-Cockayne and Winkler 2013). Of 0, 0.3 and 0.5 this lost least on public series.
NAIVE_SHARE = 0.3
# The naive interval counts as this many times as wide at most: a shift is in all its years.
MAX_WIDER = 2
_SETTLED = 4  # moments whose forecasts are passed over at first
_ENDS = (0.5 - COVERAGE / 2, 0.5, 0.5 + COVERAGE / 2)


class ForecastError(ValueError):
    """A history that no forecast, or no such forecast, can be made from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths:
    """What may come, and what that rests on."""

    drawn: FloatArray  # paths x periods
    has_trend: bool
    has_season: bool
    stretch: float  # of the spread that the errors of one step alone would give
    origins: int  # earlier forecasts that the stretch rests on


def paths_of(series: FloatArray, *, horizon: int, season: int) -> Paths:
    """Return paths of the next `horizon` amounts; `season` is how many make a year.

    A season is looked for from two years on. The same series gives the same paths. Raises
    ForecastError for too short a series, amounts that cannot be, and a horizon beyond half of it.
    """
    _check(series, horizon)
    floor = FLOOR_SHARE * float(series.mean())
    if not floor:
        nothing = np.zeros((PATHS, horizon))
        return Paths(drawn=nothing, has_trend=False, has_season=False, stretch=1.0, origins=0)
    mixture = mixture_of(np.log(series + floor), horizon=horizon, season=season)
    errors = mixture.misses[mixture.start - 1 : -1, 0]
    one_step = float(np.quantile(np.abs(errors), COVERAGE))
    first = max(mixture.start + _SETTLED, len(series) - 1 - MAX_ORIGINS)
    width, origins = _width(mixture, first, one_step)
    naive = seasonal_naive(series, horizon=horizon, season=season, shares=_ENDS)
    center, half = _moved(mixture, width, one_step, np.log(naive + floor))
    drawn = center + half * _drawn(mixture.reach[-1])
    amounts = np.exp(np.minimum(drawn, np.log(MAX_AMOUNT)))
    return Paths(
        drawn=np.maximum(amounts - floor, 0.0),
        has_trend=mixture.has_trend,
        has_season=mixture.has_season,
        stretch=width / one_step if one_step else 1.0,
        origins=origins,
    )


def _check(series: FloatArray, horizon: int) -> None:
    count = len(series)
    if not MIN_PERIODS <= count <= MAX_PERIODS:
        msg = f"a history of {count} periods: give {MIN_PERIODS} to {MAX_PERIODS} whole ones"
        raise ForecastError(msg)
    if not (np.isfinite(series).all() and (series >= 0).all() and (series <= MAX_AMOUNT).all()):
        msg = f"a history's amounts must lie between 0 and {MAX_AMOUNT:g}: correct it"
        raise ForecastError(msg)
    if not 1 <= horizon <= min(count // 2, MAX_HORIZON):
        msg = (
            f"{horizon} periods ahead from {count}: at most half as many as are known, and "
            f"{MAX_HORIZON}, can be told"
        )
        raise ForecastError(msg)


def _width(mixture: Mixture, first: int, one_step: float) -> tuple[float, int]:
    """Return the half-width of one step's interval, and how many earlier forecasts tell it.

    What they missed at any distance counts, by how far off that distance is.
    """
    misses = np.abs(mixture.misses[first:-1]) / mixture.reach[first:-1]
    origins = len(misses)
    if not origins:
        return one_step, 0
    # Of n scores the share q (1 + 1/n) bounds the next one with chance q.
    level = min(COVERAGE * (1 + 1 / origins), 1.0)
    missed = float(np.quantile(misses[np.isfinite(misses)], level))
    told = origins * missed + ONE_STEP_ORIGINS * one_step
    return told / (origins + ONE_STEP_ORIGINS), origins


def _moved(
    mixture: Mixture, width: float, one_step: float, naive: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the middle and half-width ahead, moved to the naive forecast's low, middle and high.

    By no more than the errors of the steps, so that a year before a shift pulls nothing back.
    """
    low, middle, high = naive
    points, reach = mixture.points[-1], mixture.reach[-1]
    near = np.clip(middle - points, -one_step * reach, one_step * reach)
    half = width * reach
    wanted = np.minimum((high - low) / 2, MAX_WIDER * half)
    return points + NAIVE_SHARE * near, half + NAIVE_SHARE * (wanted - half)


def _drawn(reach: FloatArray) -> FloatArray:
    """Return paths around 0 whose interval's half-width is 1: normal shocks of each step add up.

    What a shock leaves behind after so many steps is what makes the reach grow as it does. Errors
    that were made, drawn again, would let sums stray by the worst of them.
    """
    left = np.sqrt(np.maximum(np.diff(reach**2, prepend=0.0), 0.0))
    steps = np.arange(len(reach))
    later = steps[None, :] - steps[:, None]
    weights = np.where(later >= 0, left[np.maximum(later, 0)], 0.0)
    paths = np.random.default_rng(SEED).normal(size=(PATHS, len(reach))) @ weights
    drawn: FloatArray = paths / np.quantile(np.abs(paths), COVERAGE, axis=0)
    return drawn
