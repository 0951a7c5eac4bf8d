"""Combines several kinds of models into one forecast from each moment of a series.

The model with the least error so far represents each kind, and kinds with less error weigh more:
means of simple forecasts are closer than the best single one (Bates and Granger 1969; Makridakis,
Spiliotis and Assimakopoulos, "The M4 Competition", 2020). The mean is that of the middle half, so
that models that still reflect the time before a level shift do not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.forecasting.exponential_smoothing import (
    WALK,
    candidate_models,
    first_seasons,
    run_models,
)
from perfledger_cost_models.forecasting.seasonal_naive import same_period_last_year, seasonal_spread

# Kinds are weighted by the inverse error to this power: 2 to 4 differ by less than a hundredth.
LOSS_POWER = 3
# With fewer errors at one distance their mean is meaningless.
_MIN_ERRORS = 3
# The forecasts of the inner half of the weight are averaged.
MIDDLE_OF_WEIGHTS = (0.25, 0.75)
SKIPPED_MOMENTS = 4  # at the beginning: their forecasts are of models that have not settled
_MIN_LOSS = 1e-9  # lower bound of losses and errors, which are 0 for a constant series


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelMixture:
    """The forecasts from each moment of a series, with their errors."""

    points: FloatArray  # moments x horizon
    reach: FloatArray  # moments x horizon: standard deviations relative to the first step
    misses: FloatArray  # moments x horizon: errors; nan for the future
    start: int  # the first origin whose forecast counts
    has_trend: bool  # models with a trend are closer at the end
    has_season: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kind:
    """The forecasts of models of one kind."""

    points: FloatArray  # models x moments x horizon
    reach: FloatArray  # models x horizon
    has_trend: bool
    has_season: bool


def mixture_of(logs: FloatArray, *, horizon: int, season: int) -> ModelMixture:
    """Return the mixture of models of a series of logarithms; `season` is the periods of a year.

    Seasonal models need two years.
    """
    kinds = _kinds(logs, horizon=horizon, season=0)
    start = max(SKIPPED_MOMENTS, len(logs) // 4)
    if season and len(logs) >= 2 * season:
        kinds += _kinds(logs, horizon=horizon, season=season)
        kinds += _years(logs, horizon=horizon, season=season)
        start = max(start, season * first_seasons(len(logs), season=season))
    walk = kinds[0].points[0]
    losses = [_losses(each.points, walk, logs, start=start) for each in kinds]
    points, reach = _mixed_forecast(kinds, losses)
    misses = np.full(points.shape, np.nan)
    for ahead in range(1, horizon + 1):
        misses[:-ahead, ahead - 1] = logs[ahead:] - points[:-ahead, ahead - 1]
    least = [float(each[:, -1].min()) for each in losses]
    return ModelMixture(
        points=points,
        reach=reach,
        misses=misses,
        start=start,
        has_trend=_is_closer([kind.has_trend for kind in kinds], least),
        has_season=_is_closer([kind.has_season for kind in kinds], least),
    )


def _kinds(logs: FloatArray, *, horizon: int, season: int) -> tuple[_Kind, ...]:
    """Return smoothing without and with a trend, and without seasons also a random walk."""
    models = candidate_models(season=season)
    groups = [[each for each in models if not each.beta], [each for each in models if each.beta]]
    if not season:
        groups.insert(0, [WALK])
    return tuple(
        _Kind(
            points=run_models(logs, group, horizon=horizon),
            reach=np.array([each.reach(horizon) for each in group]),
            has_trend=group[0].beta > 0,
            has_season=bool(season),
        )
        for group in groups
    )


def _years(logs: FloatArray, *, horizon: int, season: int) -> tuple[_Kind, ...]:
    return tuple(
        _Kind(
            points=same_period_last_year(
                logs, horizon=horizon, season=season, is_growing=is_growing
            )[None],
            reach=seasonal_spread(horizon=horizon, season=season)[None],
            has_trend=is_growing,
            has_season=True,
        )
        for is_growing in (False, True)
    )


def _losses(points: FloatArray, walk: FloatArray, logs: FloatArray, *, start: int) -> FloatArray:
    """Return models x moments: the mean error of earlier forecasts over all distances.

    Errors are relative to those of a random walk at the same moments, so that models without
    forecasts of the first moments are comparable. The loss is infinite if there are too few.
    """
    total, count = (np.zeros(points.shape[:2]) for _ in range(2))
    for ahead in range(1, points.shape[2] + 1):
        missed = np.abs(logs[ahead:] - points[:, :-ahead, ahead - 1])
        missed[:, : start - 1] = np.nan
        walked = np.abs(logs[ahead:] - walk[:-ahead, ahead - 1])
        is_known = np.isfinite(missed)
        number = is_known.cumsum(axis=1)
        is_enough = number >= _MIN_ERRORS
        base = np.where(is_known, walked, 0).cumsum(axis=1)
        sums = np.where(is_known, missed, 0).cumsum(axis=1)
        ratio = sums / np.maximum(base, _MIN_LOSS * np.maximum(number, 1))
        total[:, ahead:] += np.where(is_enough, ratio, 0)
        count[:, ahead:] += is_enough
    mean = np.divide(total, count, out=np.full_like(total, np.inf), where=count.astype(bool))
    return mean + _MIN_LOSS


def _mixed_forecast(
    kinds: Sequence[_Kind], losses: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the mixture's points and reach; a random walk while no losses are known."""
    moments = np.arange(len(losses[0].T))
    best = [each.argmin(axis=0) for each in losses]
    weights = np.stack(
        [each[row, moments] ** -LOSS_POWER for each, row in zip(losses, best, strict=True)]
    )
    weights[0, weights.sum(axis=0) == 0] = 1.0
    weights /= weights.sum(axis=0)
    reached = np.stack([kind.reach[row] for kind, row in zip(kinds, best, strict=True)])
    predictions = np.stack(
        [kind.points[row, moments] for kind, row in zip(kinds, best, strict=True)]
    )
    shares = np.broadcast_to(weights[:, :, None], predictions.shape)
    reach: FloatArray = (reached * shares).sum(axis=0)
    return _middle_mean(np.where(shares > 0, predictions, 0.0), shares), reach


def _middle_mean(predictions: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the weighted mean between the quartiles over the first axis."""
    order = predictions.argsort(axis=0)
    ordered, weights = (np.take_along_axis(each, order, axis=0) for each in (predictions, shares))
    until = weights.cumsum(axis=0)
    inner = np.clip(until, *MIDDLE_OF_WEIGHTS) - np.clip(until - weights, *MIDDLE_OF_WEIGHTS)
    means: FloatArray = (ordered * inner).sum(axis=0) / inner.sum(axis=0)
    return means


def _is_closer(has: Sequence[bool], least: Sequence[float]) -> bool:
    """Return whether the best kind with a property has less error than the best without it."""
    without = [loss for each, loss in zip(has, least, strict=True) if not each]
    having = [loss for each, loss in zip(has, least, strict=True) if each]
    return min(having, default=np.inf) < min(without)
