from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.forecasting.calendar_periods import PeriodLength, calendar_of
from perfledger_cost_models.forecasting.forecast import (
    QUANTILES,
    ForecastQuantity,
    forecast_of,
)
from perfledger_cost_models.forecasting.past_periods import UsageHistory
from perfledger_cost_models.forecasting.sample_paths import naive_paths, sample_paths


def months(amounts, *, usd=None):
    return UsageHistory(
        calendar=calendar_of(PeriodLength.MONTH, date(2024, 1, 1)),
        hours=None if amounts is None else tuple(map(float, amounts)),
        usd=None if usd is None else tuple(map(float, usd)),
    )


def noisy(count, *, seed=1, spread=0.1):
    return 1000 * np.exp(np.random.default_rng(seed).normal(0, spread, count))


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 100), st.sampled_from([1e-3, 7.0, 1e6]))
def test_another_unit_forecasts_the_same(seed, unit):
    series = noisy(24, seed=seed)

    here = sample_paths(series, horizon=6, season=12).paths
    there = sample_paths(series * unit, horizon=6, season=12).paths

    assert np.quantile(there, QUANTILES, axis=0) == pytest.approx(
        unit * np.quantile(here, QUANTILES, axis=0), rel=1e-6
    )


def test_the_same_history_gives_the_same_figures():
    one, other = (
        forecast_of(months(noisy(30)), ForecastQuantity.HOURS, horizon=6) for _ in range(2)
    )

    assert one == other


def test_where_no_earlier_forecast_counts_the_width_is_that_of_one_step():
    found_sample_paths = sample_paths(noisy(12), horizon=1, season=4)

    assert (found_sample_paths.origins, found_sample_paths.stretch) == (0, 1)


GROWN = noisy(40) * np.exp(0.04 * np.arange(40))
COURSE = noisy(48) * np.tile(np.where(np.arange(12) < 6, 1.0, 1.6), 4)


@pytest.mark.parametrize(
    ("series", "season", "horizon", "first", "last", "others"),
    [
        (
            noisy(30),
            0,
            4,
            (871.698, 978.621, 1093.42),
            (822.985, 968.225, 1135.15),
            (True, False, 1.185014, 18),
        ),
        (
            GROWN,
            12,
            6,
            (4051.57, 4838.35, 5801.93),
            (4836.25, 6067.48, 7578.35),
            (True, True, 0.947823, 11),
        ),
        (
            COURSE,
            12,
            6,
            (770.871, 892.517, 1035.32),
            (807.955, 936.898, 1086.42),
            (False, True, 0.8787011, 19),
        ),
    ],
)
def test_paths_of_made_up_series_have_known_figures(
    *, series, season, horizon, first, last, others
):
    """So that a change of the method shows; other tests say what is right."""
    found_sample_paths = sample_paths(series, horizon=horizon, season=season)

    ends = np.quantile(found_sample_paths.paths, (0.1, 0.5, 0.9), axis=0)[:, [0, -1]].T
    assert ends.tolist() == [pytest.approx(first, rel=1e-4), pytest.approx(last, rel=1e-4)]
    has_trend, has_season, stretch, origins = others
    assert (
        found_sample_paths.has_trend,
        found_sample_paths.has_season,
        found_sample_paths.origins,
    ) == (has_trend, has_season, origins)
    assert found_sample_paths.stretch == pytest.approx(stretch, rel=1e-5)


@pytest.mark.parametrize(
    ("series", "season", "first", "last"),
    [
        (noisy(30), 0, (920.799, 1000.1, 1153.09), (829.644, 978.694, 1301.03)),
        (GROWN, 12, (4560.57, 4885.93, 6173.95), (4503.616, 4824.916, 6096.856)),
        (noisy(13), 4, (939.902, 1014.28, 1118.76), (847.861, 914.96, 1009.207)),
    ],
)
def test_naive_paths_of_made_up_series_have_known_figures(series, season, first, last):
    found_sample_paths = naive_paths(series, horizon=4, season=season)

    ends = np.quantile(found_sample_paths.paths, (0.1, 0.5, 0.9), axis=0)[:, [0, -1]].T
    assert ends.tolist() == [pytest.approx(first, rel=1e-4), pytest.approx(last, rel=1e-4)]
    assert found_sample_paths.has_season is bool(season)
    assert (
        found_sample_paths.has_trend,
        found_sample_paths.stretch,
        found_sample_paths.origins,
    ) == (False, 1, 0)


def test_nothing_goes_on_as_nothing():
    found_sample_paths = sample_paths(np.zeros(24), horizon=3, season=12)

    assert not found_sample_paths.paths.any()
    assert (
        found_sample_paths.has_trend,
        found_sample_paths.has_season,
        found_sample_paths.stretch,
        found_sample_paths.origins,
    ) == (False, False, 1, 0)
