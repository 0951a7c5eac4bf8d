import math

import numpy as np
import pytest

from perfledger_cost_models.forecasting.exponential_smoothing import (
    WALK,
    SmoothingWeights,
    candidate_models,
    first_seasons,
    run_models,
)

SERIES = np.array([3.0, 7.0, 4.0, 1.0, 5.0, 8.0, 6.5, 2.0, 6.0, 12.0, 7.0, 2.5, 9.0])


def test_reach_is_that_of_the_state_space_model():
    walk = SmoothingWeights(1.0, 0.0, 0.0, 0.0, 0)
    seasonal = SmoothingWeights(0.0, 0.0, 0.0, 1.0, 2)

    assert walk.reach(4) == pytest.approx(np.sqrt([1, 2, 3, 4]))
    assert seasonal.reach(4) == pytest.approx(np.sqrt([1, 1, 2, 2]))
    assert SmoothingWeights(0.5, 0.2, 0.9, 0.0, 0).reach(3) == pytest.approx(
        np.sqrt([1, 1 + 0.68**2, 1 + 0.68**2 + (0.5 + 0.2 * (0.9 + 0.81)) ** 2])
    )


def textbook(weights, *, level, seasons, horizon):
    """Return the forecasts from each moment: Hyndman et al. 2008, the damped additive model."""
    trend, seasons = 0.0, list(seasons)
    forecasts = []
    for place, value in enumerate(SERIES):
        now = place % len(seasons)
        error = value - level - weights.phi * trend - seasons[now]
        level += weights.phi * trend + weights.alpha * error
        trend = weights.phi * trend + weights.beta * error
        seasons[now] += weights.gamma * error
        forecasts.append(
            [
                level
                + sum(weights.phi**step for step in range(1, ahead + 1)) * trend
                + seasons[(place + ahead) % len(seasons)]
                for ahead in range(1, horizon + 1)
            ]
        )
    return np.array(forecasts)


def test_forecasts_are_those_of_the_textbook():
    models = candidate_models(season=0)

    found_models = run_models(SERIES, models, horizon=5)

    assert len(models) == 25
    for weights, forecasts in zip(models, found_models, strict=True):
        # The level begins at the median of four.
        assert forecasts == pytest.approx(textbook(weights, level=3.5, seasons=[0], horizon=5))


def test_forecasts_with_seasons_are_those_of_the_textbook():
    """The course of two years, of medians 3.5 and 5.75, less their drift of 0.5625 a place."""
    models = candidate_models(season=4)
    years = np.array([[3.0, 7.0, 4.0, 1.0], [5.0, 8.0, 6.5, 2.0]]) - [[3.5], [5.75]]
    seasons = years.mean(axis=0) - 0.5625 * np.array([-1.5, -0.5, 0.5, 1.5])

    found_models = run_models(SERIES, models, horizon=5)

    assert len(models) == 50
    for weights, forecasts in zip(models, found_models, strict=True):
        assert forecasts == pytest.approx(textbook(weights, level=3.5, seasons=seasons, horizon=5))


def test_the_walk_repeats_the_last_value_and_widens_with_the_root():
    (model,) = run_models(SERIES, [WALK], horizon=3)

    assert model == pytest.approx(np.repeat(SERIES[:, None], 3, axis=1))
    assert WALK.reach(3) == pytest.approx([1, math.sqrt(2), math.sqrt(3)])


def test_the_course_of_a_long_season_is_smoothed():
    """One value of 48 is off by 5: over five places it is 1 each."""
    series = np.zeros(96)
    series[20] = 5.0

    (model,) = run_models(series, [SmoothingWeights(0.0, 0.0, 0.8, 0.0, 48)], horizon=48)

    assert model[47] == pytest.approx(np.isin(np.arange(48), (18, 19, 20, 21, 22)).astype(float))


@pytest.mark.parametrize(
    ("count", "season", "seasons"),
    [(8, 4, 1), (11, 4, 1), (12, 4, 2), (40, 4, 2), (40, 0, 0)],
)
def test_all_but_the_last_of_up_to_two_seasons_begin_a_model(count, season, seasons):
    assert first_seasons(count, season=season) == seasons
