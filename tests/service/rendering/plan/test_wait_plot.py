import pytest

from perfledger_cost_models.review.queue_waits import RecordedWaits, WaitFigures
from perfledger_cost_models.scheduling.policy_comparison import CURVE
from perfledger_service.rendering.chart.marks import SERIES_TONES, BarMark, LineMark
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.plan.wait_plot import recorded_picture


def waits(team, longest_s, *, met=None):
    return WaitFigures(
        team=team,
        jobs=10,
        wait_mean_s=longest_s / 2,
        wait_p50_s=longest_s / 2,
        wait_p95_s=longest_s,
        met_share=met,
        wait_curve_s=tuple(longest_s * share for share in CURVE),
    )


@pytest.fixture
def recorded():
    def recorded(*teams, objective_s=None, met=None):
        return recorded_picture(
            RecordedWaits(
                log="jobs.csv",
                overall=waits("", 7200.0, met=met),
                teams=teams,
                objective_s=objective_s,
                objective_share=None,
            ),
            quarter="2026Q3",
        )

    return recorded


def test_a_curve_goes_from_a_second_to_the_longest_wait_of_all(recorded, marks_of):
    (chart,) = recorded(waits("nlp", 60.0)).charts

    everyone, team = marks_of(chart, LineMark)
    assert everyone.points[0] == (1.0, 0.0)
    assert everyone.points[-1] == team.points[-1] == (7200.0, 1.0)
    assert (60.0, 1.0) in team.points
    assert [tick.label for tick in chart.x.ticks] == ["1 s", "1 min", "1 h"]
    assert [key.label for key in chart.legend] == ["all jobs", "nlp"]


def test_with_an_objective_there_are_bars_of_who_meets_it(recorded, marks_of):
    _, bars = recorded(waits("nlp", 60.0, met=1.0), objective_s=3600.0, met=0.5).charts

    assert bars.title == "Within the objective, 1 h"
    assert [bar.x for bar in marks_of(bars, BarMark)] == [(0.0, 0.5), (0.0, 1.0)]
    assert [bar.y for bar in marks_of(bars, BarMark)] == [(0.15, 0.75), (1.15, 1.75)]
    assert [tick.figure.replace("\u00a0", " ") for tick in bars.y.ticks] == ["50.0 %", "100 %"]


def test_of_more_curves_than_colours_the_first_are_drawn(recorded, marks_of):
    teams = [waits(f"t{number}", 60.0) for number in range(30)]

    (chart,) = recorded(*teams).charts

    assert [line.tone for line in marks_of(chart, LineMark)] == list(SERIES_TONES)


def test_recorded_waits_are_drawn_as_agreed(recorded, matches_golden):
    picture = recorded(waits("nlp", 60.0), waits("ads", 90_000.0), objective_s=3600.0, met=0.9)

    matches_golden("waits.svg", picture_svg(picture))
