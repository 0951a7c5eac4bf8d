from datetime import date

import pytest

from perfledger_cost_models.forecasting.calendar_periods import PeriodLength, calendar_of
from perfledger_cost_models.forecasting.forecast import ForecastQuantity, Forecasts, forecast_of
from perfledger_cost_models.forecasting.past_periods import UsageHistory
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_cost_models.review.quarter_forecast import quarter_forecasts

FIRST = date(2024, 7, 1)
HOURS = tuple(1000.0 + 10 * month + 25 * (month % 3) for month in range(27))  # to 2026-09


def forecasts(hours=HOURS, step=PeriodLength.MONTH):
    history = UsageHistory(calendar=calendar_of(step, FIRST), hours=hours, usd=None)
    each = forecast_of(history, ForecastQuantity.HOURS, horizon=3)
    return Forecasts(name="history.csv", forecasts=(each,), rate=None)


def compared_quarter(name, hours=HOURS):
    """Return the only quantity of a quarter."""
    quarters = quarter_forecasts(forecasts(hours), quarter_of(name))
    assert isinstance(quarters, tuple)
    (quarter,) = quarters
    return quarter


def test_a_quarter_stands_beside_the_past_and_its_forecast():
    quarter = compared_quarter("2026Q3")

    assert quarter.actual == sum(HOURS[24:27])
    assert quarter.quarter_before == sum(HOURS[21:24])
    assert quarter.year_before == sum(HOURS[12:15])


@pytest.mark.slow(ci_only=True)
def test_the_forecast_does_not_know_the_quarter():
    other = (*HOURS[:24], 5000.0, 5000.0, 5000.0)
    usual, jump = compared_quarter("2026Q3"), compared_quarter("2026Q3", other)

    assert (jump.low, jump.forecast, jump.high) == (usual.low, usual.forecast, usual.high)
    assert usual.is_inside
    assert not jump.is_inside


@pytest.mark.parametrize("name", ["2026Q4", "2024Q3", "2023Q1", "2025Q2"])
def test_a_quarter_without_its_months_or_a_year_before_them_is_unknown(name):
    assert isinstance(quarter_forecasts(forecasts(), quarter_of(name)), UnknownFigure)


@pytest.mark.slow(ci_only=True)
def test_weeks_do_not_make_a_quarter():
    weeks = tuple(1000.0 + each for each in range(120))

    unknown = quarter_forecasts(forecasts(weeks, PeriodLength.WEEK), quarter_of("2026Q3"))
    assert isinstance(unknown, UnknownFigure)
    assert isinstance(quarter_forecasts(None, quarter_of("2026Q3")), UnknownFigure)
