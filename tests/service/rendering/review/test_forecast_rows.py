from dataclasses import replace
from datetime import date
from xml.etree import ElementTree

import pytest

from perfledger_cost_models.forecasting.calendar_periods import PeriodCalendar, PeriodLength
from perfledger_cost_models.forecasting.forecast import Forecast, ForecastQuantity, Forecasts
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_service.rendering.review.forecast_rows import (
    forecast_tables,
    named_periods,
    unit_of,
)

PERIODS = ((800.0, 900.0, 1000.0, 1100.0, 1200.5), (700.0, 900.0, 1100.0, 1300.0, 1500.0))


@pytest.fixture
def hours():
    return Forecast(
        quantity=ForecastQuantity.HOURS,
        calendar=PeriodCalendar(step=PeriodLength.MONTH, first=date(2026, 7, 1)),
        past=(1000.0, 1200.0, 1100.0),
        periods=PERIODS,
        total=(1600.0, 1800.0, 2100.0, 2400.0, 2600.0),
        has_trend=False,
        has_season=False,
        stretch=1.0,
        origins=0,
        backtest=None,
    )


@pytest.fixture
def forecasts(hours):
    money = replace(hours, quantity=ForecastQuantity.USD)
    return Forecasts(name="<bill>.csv", forecasts=(hours, money), rate=None)


def test_what_is_not_known_has_no_tables():
    unknown = UnknownFigure(name="forecast", reason="no history", remedy="give one")

    assert forecast_tables(unknown) is None


def test_periods_ahead_follow_the_past_and_their_sum_comes_last(hours):
    assert [name for name, _ in named_periods(hours)] == ["2026-10", "2026-11", "total"]
    assert named_periods(hours)[-1][1] == hours.total


def test_a_row_has_p10_p50_p90_and_what_to_keep_in_reserve(forecasts):
    tables = forecast_tables(forecasts)

    assert tables is not None
    hours, money = tables.tables
    assert [table.unit for table in tables.tables] == ["device-hours", "USD"]
    assert hours.rows[0].cells == ("800", "1,000", "1,200", "200.5")
    assert money.rows[0].cells == ("800", "1,000", "1,200", "200")
    assert money.rows[-1].cells == ("1,600", "2,100", "2,600", "500")


def test_each_quantity_has_its_unit():
    assert {unit_of(each) for each in ForecastQuantity} == {
        "device-hours",
        "USD",
    }


def test_the_picture_and_the_sentences_are_those_of_the_forecast(forecasts):
    tables = forecast_tables(forecasts)

    assert tables is not None
    assert ElementTree.fromstring(tables.picture).tag.endswith("svg")
    assert "<bill>" not in tables.picture
    assert tables.sentences
