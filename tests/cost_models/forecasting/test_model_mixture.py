"""The mixture of models of made-up series: whom it follows, and that it does not look ahead."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.forecasting.model_mixture import mixture_of


def noise(count, *, seed=1, spread=0.05):
    return np.random.default_rng(seed).normal(0, spread, count)


def test_a_constant_series_goes_on_without_trend_or_season():
    model_mixture = mixture_of(np.full(36, 7.0), horizon=3, season=12)

    assert model_mixture.points[-1] == pytest.approx([7.0] * 3)
    assert (model_mixture.has_trend, model_mixture.has_season) == (False, False)


def test_what_each_year_repeats_is_expected_again():
    course = np.tile(np.where(np.arange(12) < 6, 1.0, 3.0), 4) + noise(48)

    model_mixture = mixture_of(course, horizon=12, season=12)

    assert model_mixture.has_season
    assert model_mixture.points[-1] == pytest.approx([1.0] * 6 + [3.0] * 6, abs=0.3)


def test_growth_is_gone_on_with_farther_out():
    grown = 0.05 * np.arange(40) + noise(40, spread=0.01)

    model_mixture = mixture_of(grown, horizon=4, season=0)

    assert model_mixture.has_trend
    assert grown[-1] < model_mixture.points[-1, 0] < model_mixture.points[-1, -1]


def test_after_a_shift_the_year_before_is_not_gone_back_to():
    shifted = np.where(np.arange(36) < 30, 7.0, 8.0) + noise(36)

    model_mixture = mixture_of(shifted, horizon=6, season=12)

    assert model_mixture.points[-1] == pytest.approx([8.0] * 6, abs=0.2)


def test_misses_are_what_came_less_what_was_said():
    series = noise(20)

    model_mixture = mixture_of(series, horizon=2, season=0)

    assert model_mixture.misses[10] == pytest.approx(series[11:13] - model_mixture.points[10])
    assert np.isnan(model_mixture.misses[-1]).all()
    assert np.isnan(model_mixture.misses[-2]).tolist() == [False, True]


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.integers(20, 38), st.sampled_from([0, 12]))
def test_what_is_said_at_a_moment_rests_on_nothing_that_came_later(seed, moment, season):
    series = noise(40, seed=seed)
    other = np.concatenate([series[: moment + 1], series[moment + 1 :] + 5])

    one, later = (mixture_of(each, horizon=4, season=season) for each in (series, other))

    # Seasons begin with what the first two were, which is before the first forecast that counts.
    counted = slice(one.start, moment + 1)
    assert one.points[counted] == pytest.approx(later.points[counted])
