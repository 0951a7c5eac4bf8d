import numpy as np
import pytest

from perfledger_cost_models.forecasting.seasonal_naive import (
    MAX_AMOUNT,
    same_period_last_year,
    seasonal_naive,
    seasonal_spread,
)

YEARS = np.tile(np.arange(4.0), 5) + np.repeat(np.arange(5.0), 4)  # four seasons, 1 more a year


def test_the_same_season_of_the_year_before_is_expected():
    expected = same_period_last_year(YEARS, horizon=6, season=4, is_growing=False)

    assert expected[-1].tolist() == [4, 5, 6, 7, 4, 5]
    assert np.isnan(expected[2]).all()


def test_years_grow_as_they_did_in_the_middle():
    expected = same_period_last_year(YEARS, horizon=6, season=4, is_growing=True)

    assert expected[-1].tolist() == [5, 6, 7, 8, 6, 7]
    assert np.isnan(expected[5]).all()
    assert not np.isnan(expected[6]).any()


def test_years_reach_as_they_walk():
    assert seasonal_spread(horizon=5, season=2) == pytest.approx(np.sqrt([1, 1, 2, 2, 3]))


def test_before_two_years_the_naive_forecast_is_the_last_amount():
    (middle,) = seasonal_naive(np.full(20, 3.0), horizon=4, season=12, shares=(0.5,))

    assert middle == pytest.approx([3.0] * 4)


def test_the_naive_forecast_of_nothing_is_nothing():
    assert not seasonal_naive(np.zeros(24), horizon=3, season=12, shares=(0.1, 0.9)).any()


def test_the_naive_forecast_stays_within_what_can_be():
    wild = np.array([1e15, 0.0] * 12)

    assert seasonal_naive(wild, horizon=12, season=1, shares=(0.9,)).max() <= MAX_AMOUNT * 1.001


def test_the_naive_forecast_is_the_year_before():
    series = np.tile(np.arange(1.0, 13.0), 3)

    (middle,) = seasonal_naive(series, horizon=14, season=12, shares=(0.5,))

    assert middle == pytest.approx([*range(1, 13), 1, 2])
