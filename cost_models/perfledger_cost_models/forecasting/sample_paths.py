"""Draws sample paths of a series' future, with the spread of earlier forecast errors.

A mixture of models of the logarithm gives the middle. Conformal calibration (Vovk, Gammerman and
Shafer 2005; Lei et al. 2018) gives the spread: the same forecast is made from each earlier moment,
and the interval is just wide enough to cover the required share of the errors. Both are then moved
part of the way to the seasonal naive forecast.
"""

from dataclasses import dataclass

import numpy as np

from perfledger.rounding import typed
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.draws import SEED
from perfledger_cost_models.forecasting.model_mixture import (
    SKIPPED_MOMENTS,
    ModelMixture,
    mixture_of,
)
from perfledger_cost_models.forecasting.seasonal_naive import (
    MAX_AMOUNT,
    naive_lag,
    seasonal_naive,
)

PATHS = 4000  # the ends of an 80 % interval then hold to about a hundredth of its width
COVERAGE = 0.8  # of the calibrated interval
MIN_PERIODS = 12  # with fewer the errors of a forecast are unknown
MAX_PERIODS = 2000  # forty years of weeks
MAX_HORIZON = 104  # two years of weeks
MAX_ORIGINS = 200  # the last earlier forecasts that are compared with the outcome
# Share of the mean that is added before the logarithm, so that an empty period has one.
FLOOR_SHARE = 0.1
# Weight of the one-step errors, in earlier forecasts: a few errors may be small by chance.
ONE_STEP_ORIGINS = 20
# Weight of the seasonal naive forecast: means of quantiles are closer than either (Lichtendahl,
# Grushka-Cockayne and Winkler 2013). Of 0, 0.3 and 0.5 this had the least loss on public series.
NAIVE_SHARE = 0.3
# Limit of the naive interval's relative width, because a level shift is in all differences of
# its year.
MAX_WIDENING = 2
_ENDS = (0.5 - COVERAGE / 2, 0.5, 0.5 + COVERAGE / 2)


class ForecastError(ValueError):
    """A history that does not allow the forecast."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SamplePaths:
    """Sample paths of the future, with their basis."""

    paths: FloatArray  # paths x periods
    has_trend: bool
    has_season: bool
    stretch: float  # of the spread relative to that of one-step errors
    origins: int  # earlier forecasts that determine the stretch


def sample_paths(series: FloatArray, *, horizon: int, season: int) -> SamplePaths:
    """Return paths of the next `horizon` amounts; `season` is the number of periods in a year.

    Seasons need two years. The same series gives the same paths. Raises ForecastError for too short
    a series, invalid amounts, and a horizon beyond half of the series.
    """
    _check(series, horizon)
    floor = FLOOR_SHARE * float(series.mean())
    if not floor:
        nothing = np.zeros((PATHS, horizon))
        return SamplePaths(paths=nothing, has_trend=False, has_season=False, stretch=1.0, origins=0)
    mixture = mixture_of(np.log(series + floor), horizon=horizon, season=season)
    errors = mixture.misses[mixture.start - 1 : -1, 0]
    one_step = float(np.quantile(np.abs(errors), COVERAGE))
    first = max(mixture.start + SKIPPED_MOMENTS, len(series) - 1 - MAX_ORIGINS)
    width, origins = _width(mixture, first, one_step)
    naive = seasonal_naive(series, horizon=horizon, season=season, shares=_ENDS)
    center, half = _widened_forecast(mixture, width, one_step, np.log(naive + floor))
    paths = center + half * _unit_paths(mixture.reach[-1])
    amounts = np.exp(np.minimum(paths, np.log(MAX_AMOUNT)))
    return SamplePaths(
        paths=np.maximum(amounts - floor, 0.0),
        has_trend=mixture.has_trend,
        has_season=mixture.has_season,
        stretch=width / one_step if one_step else 1.0,
        origins=origins,
    )


def naive_paths(series: FloatArray, *, horizon: int, season: int) -> SamplePaths:
    """Return paths with the quantiles of the seasonal naive forecast; years are independent.

    All periods of a year lie above or below the year before together, because the spread is that
    between years. Raises ForecastError, as `sample_paths` does.
    """
    _check(series, horizon)
    lag = naive_lag(len(series), season=season)
    shares = (np.arange(PATHS) + 0.5) / PATHS
    amounts = seasonal_naive(series, horizon=horizon, season=season, shares=shares.tolist())
    years = np.arange(horizon) // lag
    shocks = np.random.default_rng(SEED).normal(size=(PATHS, int(years[-1]) + 1))
    ranks = shocks.cumsum(axis=1)[:, years].argsort(axis=0).argsort(axis=0)
    return SamplePaths(
        paths=np.take_along_axis(amounts, ranks, axis=0),
        has_trend=False,
        has_season=lag > 1,
        stretch=1.0,
        origins=0,
    )


def _check(series: FloatArray, horizon: int) -> None:
    count = len(series)
    if not MIN_PERIODS <= count <= MAX_PERIODS:
        msg = f"the history has {count} periods: use {MIN_PERIODS} to {MAX_PERIODS} complete ones"
        raise ForecastError(msg)
    if not (np.isfinite(series).all() and (series >= 0).all() and (series <= MAX_AMOUNT).all()):
        msg = f"an amount of the history is not between 0 and {typed(MAX_AMOUNT)}: correct it"
        raise ForecastError(msg)
    if not 1 <= horizon <= min(count // 2, MAX_HORIZON):
        msg = (
            f"the horizon is {horizon} periods after {count}: use at least 1, and at most half of "
            f"the history and {MAX_HORIZON}"
        )
        raise ForecastError(msg)


def _width(mixture: ModelMixture, first: int, one_step: float) -> tuple[float, int]:
    """Return the half-width of one step's interval, and the number of earlier forecasts.

    Errors at all distances count, relative to the reach of their distance.
    """
    misses = np.abs(mixture.misses[first:-1]) / mixture.reach[first:-1]
    origins = len(misses)
    if not origins:
        return one_step, 0
    # The share q (1 + 1/n) of n scores bounds the next one with probability q.
    level = min(COVERAGE * (1 + 1 / origins), 1.0)
    missed = float(np.quantile(misses[np.isfinite(misses)], level))
    weighted_misses = origins * missed + ONE_STEP_ORIGINS * one_step
    return weighted_misses / (origins + ONE_STEP_ORIGINS), origins


def _widened_forecast(
    mixture: ModelMixture, width: float, one_step: float, naive: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the middle and half-width, moved towards the naive forecast.

    The move is limited by the errors of the steps, so that the level before a shift has no
    influence.
    """
    low, middle, high = naive
    points, reach = mixture.points[-1], mixture.reach[-1]
    near = np.clip(middle - points, -one_step * reach, one_step * reach)
    half = width * reach
    target_half = np.minimum((high - low) / 2, MAX_WIDENING * half)
    return points + NAIVE_SHARE * near, half + NAIVE_SHARE * (target_half - half)


def _unit_paths(reach: FloatArray) -> FloatArray:
    """Return paths around 0 with an interval of half-width 1, as sums of normal shocks.

    The weight of a shock after a number of steps follows from the growth of the reach. Resampling
    past errors instead would let single large errors dominate sums.
    """
    left = np.sqrt(np.maximum(np.diff(reach**2, prepend=0.0), 0.0))
    steps = np.arange(len(reach))
    later = steps[None, :] - steps[:, None]
    weights = np.where(later >= 0, left[np.maximum(later, 0)], 0.0)
    paths = np.random.default_rng(SEED).normal(size=(PATHS, len(reach))) @ weights
    scaled: FloatArray = paths / np.quantile(np.abs(paths), COVERAGE, axis=0)
    return scaled
