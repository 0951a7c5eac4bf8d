"""Periods far from their neighbours, and histories that have none."""

import numpy as np
import pytest

from perfledger_cost_models.forecasting.outliers import outliers_of, without_outliers

YEAR = 12


def noisy(count=36, *, growth=1.01, share=0.05, seed=3):
    noise = np.random.default_rng(seed).normal(0, share, count)
    return 1000 * growth ** np.arange(count) * np.exp(noise)


@pytest.mark.parametrize("index", [0, 1, 5, 17, 34, 35])
@pytest.mark.parametrize("times", [10, 2, 0.1, 0])
@pytest.mark.parametrize("count", [8, 20, 36])
def test_a_typing_error_or_a_doubled_export_is_found_alone(index, times, count):
    daily = noisy(count)
    place = min(index, count - 1)
    daily[place] *= times

    (outlier,) = outliers_of(daily, season=YEAR)

    assert outlier.index == place
    assert outlier.fold == pytest.approx(times, rel=0.25)
    assert without_outliers(daily, (outlier,))[place] == outlier.usual_daily


@pytest.mark.parametrize(
    "shape",
    [
        np.ones(36),
        np.where(np.arange(36) < 20, 1.0, 10.0),  # a level that stays
        np.where(np.arange(36) % YEAR == 11, 4.0, 1.0),  # every December
        1.2 ** np.arange(36),
    ],
)
def test_levels_seasons_and_growth_are_no_outliers(shape):
    assert outliers_of(noisy(growth=1.0) * shape, season=YEAR) == ()


def test_noise_has_an_outlier_in_few_histories():
    """Of 300 histories of 36 months with 30 % of noise each."""
    by_history = [outliers_of(noisy(share=0.3, seed=seed), season=YEAR) for seed in range(300)]

    assert sum(map(bool, by_history)) <= 15


def test_a_history_of_zeros_has_no_outlier():
    assert outliers_of(np.zeros(24), season=YEAR) == ()
