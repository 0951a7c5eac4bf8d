from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.forecasting.calendar_periods import PeriodCalendar, PeriodLength
from perfledger_cost_models.forecasting.forecast import (
    BudgetDay,
    Forecast,
    ForecastQuantity,
    SpendingBudget,
)
from perfledger_cost_models.money import Usd
from perfledger_service.rendering.chart.marks import BandMark, LineMark, RuleMark
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.fleet.forecast_fan import fan_chart

PERIODS = ((8.0, 9.0, 10.0, 11.0, 12.0), (7.0, 9.0, 11.0, 13.0, 15.0))


@pytest.fixture
def forecast():
    return Forecast(
        quantity=ForecastQuantity.HOURS,
        calendar=PeriodCalendar(step=PeriodLength.MONTH, first=date(2026, 1, 1)),
        past=(10.0, 12.0, 11.0),
        periods=PERIODS,
        total=(16.0, 18.0, 21.0, 24.0, 26.0),
        has_trend=False,
        has_season=False,
        stretch=1.0,
        origins=0,
        backtest=None,
    )


def test_the_fan_begins_at_the_last_that_is_known(forecast, marks_of):
    chart = fan_chart(forecast)

    past, middle = marks_of(chart, LineMark)
    wide, narrow = marks_of(chart, BandMark)
    assert past.points == ((0, 10.0), (1, 12.0), (2, 11.0))
    assert middle.points == ((2, 11.0), (3, 10.0), (4, 11.0))
    assert wide.points == ((2, 11.0, 11.0), (3, 8.0, 12.0), (4, 7.0, 15.0))
    assert narrow.points[-1] == (4, 9.0, 13.0)
    assert (chart.y.low, chart.y.high, chart.y.title) == (0.0, 15.0, "device-hours")


def test_periods_have_their_names(forecast):
    labels = [tick.label for tick in fan_chart(forecast).x.ticks]

    assert labels == ["2026-01", "2026-02", "2026-03", "2026-04", "2026-05"]


def test_the_day_on_which_the_budget_is_spent_is_a_rule_within_its_month(forecast, marks_of):
    day = BudgetDay(
        budget=SpendingBudget(usd=Decimal(20)),
        spent_usd=Usd(0.0),
        days=(None, date(2026, 5, 16), None),
        chance=0.5,
    )

    (rule,) = marks_of(fan_chart(replace(forecast, budget=day)), RuleMark)

    assert rule.x == pytest.approx(4, abs=0.05)
    assert rule.label == "spent on 2026-05-16"


def test_of_a_long_past_three_seasons_are_drawn(forecast, marks_of):
    long = replace(forecast, past=tuple(map(float, range(1, 61))))

    past, _ = marks_of(fan_chart(long), LineMark)

    assert [value for _, value in past.points] == [float(value) for value in range(25, 61)]


def test_a_forecast_is_drawn_as_agreed(forecast, matches_golden):
    matches_golden("forecast_fan.svg", embedded_svg(fan_chart(forecast), label="forecast"))
