from dataclasses import replace

from perfledger_service.rendering.chart.marks import BarMark, LineMark
from perfledger_service.rendering.cost.projection_plot import projection_svg, speed_chart
from tests.service.rendering.example_projection import projection_view


def test_a_projection_is_drawn_as_agreed(matches_golden):
    matches_golden("projection.svg", projection_svg(projection_view()))


def test_a_projections_bars_and_intervals_are_its_speeds(marks_of):
    chart = speed_chart(projection_view())

    assert [bar.x for bar in marks_of(chart, BarMark)] == [(0.0, 2.5), (0.0, 0.75)]
    ends = [[x for x, _ in line.points] for line in marks_of(chart, LineMark)]
    assert ends == [[1.25, 5.0], [0.375, 1.5]]
    assert [tick.label for tick in chart.y.ticks] == ["H100-80GB", "TPU-v4"]


def test_a_device_without_a_projection_is_named_and_not_drawn():
    view = projection_view()
    unknown = replace(view, rows=view.rows[2:])

    assert "unknown: T4" in projection_svg(view)
    assert speed_chart(unknown).y.ticks == ()
    assert "unknown" not in projection_svg(replace(view, rows=view.rows[:2]))


def test_speeds_are_shown_beside_the_one_that_was_measured():
    chart = speed_chart(projection_view())

    assert chart.x.title == "times as fast as A100-80GB"
    assert [tick.figure.replace("\xa0", " ") for tick in chart.y.ticks] == [
        "2.50 (1.25 to 5.00)",
        "0.75 (0.38 to 1.50)",
    ]
    assert chart.x.share(1.0) < 1.0
