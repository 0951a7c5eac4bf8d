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
from perfledger_cost_models.forecasting.sample_paths import sample_paths


def months(amounts, *, usd=None):
    return UsageHistory(
        calendar=calendar_of(PeriodLength.MONTH, date(2024, 1, 1)),
        hours=None if amounts is None else tuple(map(float, amounts)),
        usd=None if usd is None else tuple(map(float, usd)),
    )


def noisy(count, *, seed=1, spread=0.1):
    return 1000 * np.exp(np.random.default_rng(seed).normal(0, spread, count))


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
    found = sample_paths(noisy(12), horizon=1, season=4)

    assert (found.origins, found.stretch) == (0, 1)
