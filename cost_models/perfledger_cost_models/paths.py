"""A series of amounts into paths that it may take, spread as wide as earlier forecasts missed.

Exponential smoothing of the logarithm, by the weights that missed least over the whole horizon so
far, gives the middle; the errors that it made one step ahead, drawn again, give paths. How wide
they spread is set by conformal calibration (Vovk, Gammerman and Shafer 2005; Lei et al. 2018): from
each earlier moment the same forecast is made of what was known then, and the paths are stretched
until so many of those misses are inside as should be.
"""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.draws import SEED
from perfledger_cost_models.smoothing import (
    FloatArray,
    Tracks,
    Weights,
    candidates,
    first_seasons,
    tracks,
)

PATHS = 4000  # the ends of an 80 % interval then hold to about a hundredth of its width
COVERAGE = 0.8  # of the interval that is calibrated
MIN_PERIODS = 12  # fewer tell nothing of how far off a forecast is
MAX_PERIODS = 2000  # forty years of weeks
MAX_HORIZON = 104  # two years of weeks
MAX_ORIGINS = 200  # the last earlier forecasts that are held against what came
MAX_AMOUNT = 1e15  # of a history, and of what it is taken to lead to
# Of the mean, added before the logarithm is taken, so that an empty period has one, too.
FLOOR_SHARE = 0.1
# What fewer misses tell of a stretch is taken for no better, and no worse, than this.
MIN_STRETCH, MAX_STRETCH = 0.7, 4.0
# Misses of one model at one distance, below which their mean says nothing.
_FEWEST = 3
_SETTLED = 4  # errors that are passed over at first


class ForecastError(ValueError):
    """A history that no forecast, or no such forecast, can be made from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Paths:
    """What may come, and what that rests on."""

    drawn: FloatArray  # paths x periods
    weights: Weights
    stretch: float  # of the spread that the errors of one step alone would give
    origins: int  # earlier forecasts that the stretch rests on


@dataclass(frozen=True, slots=True, eq=False)
class _Record:
    """What all models said of a series at each moment, and how far off each was."""

    tracks: tuple[Tracks, ...]
    weights: tuple[Weights, ...]
    errors: FloatArray  # models x moments
    misses: FloatArray  # models x moments x horizon; nan where it has not come yet
    start: int  # the first moment whose forecast counts


def paths_of(series: FloatArray, *, horizon: int, season: int) -> Paths:
    """Return paths of the next `horizon` amounts; `season` is how many make a year.

    A season is looked for from two years on. The same series gives the same paths. Raises
    ForecastError for too short a series, amounts that cannot be, and a horizon beyond half of it.
    """
    _check(series, horizon)
    floor = FLOOR_SHARE * float(series.mean())
    if not floor:
        nothing = np.zeros((PATHS, horizon))
        return Paths(drawn=nothing, weights=candidates(season=0)[0], stretch=1.0, origins=0)
    record = _record(np.log(series + floor), horizon=horizon, season=season)
    last = len(series) - 1
    first = max(record.start + _SETTLED, last - MAX_ORIGINS)
    scores = [_scores(record, moment) for moment in range(first, last)]
    # Of n scores the share q (1 + 1/n) bounds the next one with chance q.
    level = min(COVERAGE * (1 + 1 / max(len(scores), 1)), 1.0)
    stretch = float(np.quantile(np.concatenate(scores), level)) if scores else 1.0
    stretch = min(max(stretch, MIN_STRETCH), MAX_STRETCH)
    best = _best(record, last)
    drawn = _stretched(_simulated(record, best, horizon), record, best, stretch)
    amounts = np.exp(np.minimum(drawn, np.log(MAX_AMOUNT)))
    return Paths(
        drawn=np.maximum(amounts - floor, 0.0),
        weights=record.weights[best],
        stretch=stretch,
        origins=len(scores),
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


def _record(logs: FloatArray, *, horizon: int, season: int) -> _Record:
    count = len(logs)
    found = [tracks(logs, candidates(season=0), horizon=horizon)]
    start = max(_SETTLED, count // 4)
    if season and count >= 2 * season:
        found.append(tracks(logs, candidates(season=season), horizon=horizon))
        start = max(start, season * first_seasons(count, season=season))
    points = np.concatenate([each.points for each in found])
    misses = np.full(points.shape, np.nan)
    for ahead in range(1, horizon + 1):
        misses[:, :-ahead, ahead - 1] = logs[ahead:] - points[:, :-ahead, ahead - 1]
    return _Record(
        tracks=tuple(found),
        weights=tuple(each for one in found for each in one.weights),
        errors=np.concatenate([each.errors for each in found]),
        misses=misses,
        start=start,
    )


def _best(record: _Record, moment: int) -> int:
    """Return the model whose forecasts missed least, of those that had come true by a moment."""
    losses = np.zeros(len(record.weights))
    for ahead in range(1, record.misses.shape[2] + 1):
        known = record.misses[:, record.start - 1 : moment - ahead + 1, ahead - 1]
        if known.shape[1] < _FEWEST:
            break
        losses += np.abs(known).mean(axis=1)
    return int(losses.argmin())


def _scores(record: _Record, moment: int) -> FloatArray:
    """Return how far off a moment's forecast was, in half-widths that were expected then."""
    best = _best(record, moment)
    half = _half(record, best, moment)
    missed = np.abs(record.misses[best, moment])
    missed = missed[np.isfinite(missed)]
    scores: FloatArray = missed / np.maximum(half[: len(missed)], np.finfo(float).tiny)
    return scores


def _half(record: _Record, best: int, moment: int) -> FloatArray:
    """Return the half-widths of the intervals ahead of a moment, before they are stretched."""
    errors = np.abs(record.errors[best, record.start - _SETTLED : moment + 1])
    ahead = record.weights[best].reach(record.misses.shape[2])
    half: FloatArray = float(np.quantile(errors, COVERAGE)) * ahead
    return half


def _simulated(record: _Record, best: int, horizon: int) -> FloatArray:
    """Run the model on from the end, with errors that it made before, in any order."""
    model, row = record.tracks[0], best
    if best >= len(model.weights):
        model, row = record.tracks[1], best - len(model.weights)
    weights = model.weights[row]
    errors = record.errors[best, record.start - _SETTLED :]
    shocks = np.random.default_rng(SEED).choice(errors, (PATHS, horizon))
    level, trend = np.full(PATHS, model.level[row]), np.full(PATHS, model.trend[row])
    seasons = np.tile(model.seasons[row], (PATHS, 1))
    drawn = np.zeros((PATHS, horizon))
    for step in range(horizon):
        now = step % seasons.shape[1]
        shock = shocks[:, step]
        drawn[:, step] = level + weights.phi * trend + seasons[:, now] + shock
        level = level + weights.phi * trend + weights.alpha * shock
        trend = weights.phi * trend + weights.beta * shock
        seasons[:, now] += weights.gamma * shock
    return drawn


def _stretched(drawn: FloatArray, record: _Record, best: int, stretch: float) -> FloatArray:
    """Return paths around the same middle, whose interval is as wide as calibrated."""
    middle = np.median(drawn, axis=0)
    low, high = np.quantile(drawn, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=0)
    wanted = stretch * _half(record, best, record.misses.shape[1] - 1)
    is_spread = high > low
    factor = np.divide(2 * wanted, high - low, out=np.ones_like(wanted), where=is_spread)
    wide: FloatArray = middle + factor * (drawn - middle)
    return wide
