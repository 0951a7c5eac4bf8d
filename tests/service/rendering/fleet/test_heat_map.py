from datetime import date

import pytest

from perfledger_cost_models.billing.allocated_hours import HeatMap, WeeklyHours
from perfledger_service.rendering.chart.marks import BarMark
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.fleet.heat_map import MAX_ROWS, heat_picture

WEEKS = (date(2026, 7, 1), date(2026, 7, 6))  # from a Wednesday: five days, then seven
END = date(2026, 7, 13)


def weekly(*rows):
    teams = tuple(WeeklyHours(team=team, hours=hours) for team, hours in rows)
    return HeatMap(starts=WEEKS, end=END, rows=teams)


@pytest.fixture
def cells_of(marks_of):
    return lambda result: marks_of(heat_picture(result).charts[0], BarMark)


def test_a_cell_is_a_teams_week_with_its_hours(cells_of):
    cells = cells_of(weekly(("vision", (240.0, 336.0)), ("", (0.0, 168.0))))

    assert [(int(cell.x[0]), int(cell.y[0])) for cell in cells] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert [cell.label for cell in cells] == ["240", "336", "", "168"]
    assert cells[0].title == "vision, from 2026-07-01: 240 device-hours, 2 devices on average"


def test_hundred_thousand_hours_are_written_in_thousands(cells_of):
    cells = cells_of(weekly(("vision", (99_999.0, 100_000.0))))

    assert [cell.label for cell in cells] == ["99,999", "100k"]


def test_a_short_week_has_the_colour_of_as_many_devices(cells_of):
    short, full = cells_of(weekly(("vision", (240.0, 336.0))))

    assert short.opacity == full.opacity


def test_rows_have_their_sums_and_the_legend_says_how_many_devices_are_most():
    (chart,) = heat_picture(weekly(("vision", (240.0, 336.0)), ("nlp", (120.0, 0.0)))).charts

    assert [(tick.label, tick.figure) for tick in chart.y.ticks] == [
        ("vision", "576"),
        ("nlp", "120"),
    ]
    assert chart.legend[-1].label == "2 devices on average"


def test_of_very_many_teams_the_last_are_one_row():
    many = weekly(*((f"t{number:02}", (1.0, 1.0)) for number in range(MAX_ROWS + 5)))

    (chart,) = heat_picture(many).charts

    assert len(chart.y.ticks) == MAX_ROWS
    assert (chart.y.ticks[-1].label, chart.y.ticks[-1].figure) == ("(6 others)", "12")


def test_a_heat_map_is_drawn_as_agreed(matches_golden):
    heat_map = weekly(("vision", (240.0, 336.0)), ("nlp", (120.0, 0.0)), ("", (0.0, 250_000.0)))

    matches_golden("heat_map.svg", picture_svg(heat_picture(heat_map)))
