from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger_cost_models.energy.carbon_aware_start import StartPlan, StartWindow
from perfledger_cost_models.energy.start_objective import StartObjective
from perfledger_service.rendering.chart.marks import BarMark, LineMark, Tone
from perfledger_service.rendering.fleet.start_window_plot import window_chart, window_svg

HOUR = 3600.0


@pytest.fixture
def window():
    once = StartPlan(runs=((0.0, 2 * HOUR),), kg_per_kwh=0.4, kg=None, usd=None)
    best = StartPlan(
        runs=((HOUR, 2 * HOUR), (3 * HOUR, 4 * HOUR)), kg_per_kwh=0.2, kg=None, usd=None
    )
    values = tuple(
        (at * HOUR, (at + 1) * HOUR, value) for at, value in enumerate((0.6, 0.2, 0.6, 0.2))
    )
    return StartWindow(aim=StartObjective.KG, values=values, at_once=once, best=best)


def test_the_line_stays_at_a_value_for_its_hour_and_runs_are_bars(window, marks_of):
    chart = window_chart(window)

    (line,) = marks_of(chart, LineMark)
    best = [bar.x for bar in marks_of(chart, BarMark) if bar.tone is Tone.GREEN]
    once = [bar.x for bar in marks_of(chart, BarMark) if bar.is_open]
    assert line.points[:4] == ((0.0, 0.6), (HOUR, 0.6), (HOUR, 0.2), (2 * HOUR, 0.2))
    assert (best, once) == ([(HOUR, 2 * HOUR), (3 * HOUR, 4 * HOUR)], [(0.0, 2 * HOUR)])
    assert (chart.y.title, chart.y.low) == ("kg of CO2 a kWh", 0.0)


def test_negative_prices_are_drawn_below_zero(window):
    below = replace(window, values=((0.0, HOUR, -0.4), (HOUR, 2 * HOUR, -0.1)))
    mixed = replace(window, values=((0.0, HOUR, -0.4), (HOUR, 2 * HOUR, 0.1)))

    assert [(chart.y.low, chart.y.high) for chart in map(window_chart, (below, mixed))] == [
        (-0.4, 0.0),
        (-0.4, 0.1),
    ]


def test_the_picture_says_when_to_start(window):
    root = ElementTree.fromstring(window_svg(window))

    assert "Start 1970-01-01T01:00Z" in "".join(root.itertext())


def test_a_start_window_is_drawn_as_agreed(window, matches_golden):
    matches_golden("start_window.svg", window_svg(window))
