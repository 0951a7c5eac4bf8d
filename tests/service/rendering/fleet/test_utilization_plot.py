from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.telemetry.utilization import OwnerUtilization
from perfledger_cost_models.telemetry.utilization_report import UtilizationGain, UtilizationReport
from perfledger_service.rendering.chart.marks import BarMark, RuleMark, Tone
from perfledger_service.rendering.fleet.utilization_plot import (
    owners_chart,
    utilization_svg,
    week_chart,
)

HOSTILE = "</title><script>\u202e"


def use_of(owner, mean, **values):
    usual = OwnerUtilization(
        owner=owner,
        device_hours=192.0,
        missing_hours=0.0,
        mean=mean,
        is_upper_bound=False,
        p50=mean,
        p95=mean,
        idle_share=0.1,
        burstiness=None,
        signals={},
    )
    return replace(usual, **values)


@pytest.fixture
def report():
    owners = (use_of("ads", 0.91, signals={Signal.SM_ACTIVE: 0.156}), use_of("nlp", 0.4))
    return UtilizationReport(
        files=("range.json",),
        kinds=("prometheus",),
        start=1_790_000_000.0,
        end=1_790_691_200.0,
        devices=4.0,
        level=OwnerLevel.NAMESPACE,
        signal=Signal.GPU_UTIL,
        total=use_of("", 0.655),
        by_owner=owners,
        idle=(),
        misleading=(),
        candidates=(),
        week=(None, 0.25, *[None] * 165, 1.0),
        gain=UtilizationGain(
            target=0.7,
            freed_hours=12.0,
            idle_hours=0.0,
            free_hours=0.0,
            reached=None,
            years=8 / 365,
            rate=None,
        ),
        left_out=0,
        notes=(),
    )


def test_each_owner_has_a_track_a_bar_and_where_it_is_known_a_thin_one(report, marks_of):
    chart = owners_chart(report)

    bars = [(bar.x[1], bar.tone) for bar in marks_of(chart, BarMark)]
    assert bars == [
        (1.0, Tone.TRACK),
        (0.91, Tone.BLUE),
        (0.156, Tone.ORANGE),
        (1.0, Tone.TRACK),
        (0.4, Tone.BLUE),
    ]
    assert [tick.label for tick in chart.y.ticks] == ["ads", "nlp"]
    assert chart.caption == "GPU-util by namespace; thin: SM-active"
    title = marks_of(chart, BarMark)[0].title.replace("\xa0", " ")
    assert title == "ads: 91.0 % of 192 device-hours, SM-active 15.6 %"


def test_the_target_is_a_line_across_all_owners(report, marks_of):
    (rule,) = marks_of(owners_chart(report), RuleMark)

    assert (rule.x, rule.label.replace("\xa0", " ")) == (0.7, "target 70 %")


def test_sm_active_is_not_drawn_beside_itself(report, marks_of):
    chart = owners_chart(replace(report, signal=Signal.SM_ACTIVE))

    assert Tone.ORANGE not in {bar.tone for bar in marks_of(chart, BarMark)}
    assert "thin" not in chart.caption


@pytest.mark.parametrize(
    ("values", "figure"),
    [({"mean": None}, "not known"), ({"mean": 0.4, "is_upper_bound": True}, "at most 40.0 %")],
)
def test_a_mean_that_is_not_known_or_a_bound_says_so(report, marks_of, values, figure):
    chart = owners_chart(replace(report, by_owner=(replace(use_of("nlp", 0.4), **values),)))

    assert chart.y.ticks[0].figure.replace("\xa0", " ") == figure
    assert marks_of(chart, BarMark)[1].x == (0.0, values["mean"] or 0.0)


def test_hours_of_the_week_are_cells_by_day_and_those_unknown_are_empty(report, marks_of):
    chart = week_chart(report.week)

    cells = [bar for bar in marks_of(chart, BarMark) if bar.tone is not Tone.TRACK]
    assert [(cell.x, cell.y, cell.opacity) for cell in cells] == [
        ((1.03, 1.97), (0.03, 0.97), 0.25),
        ((23.03, 23.97), (6.03, 6.97), 1.0),
    ]
    assert [cell.title.replace("\xa0", " ") for cell in cells] == [
        "Mon 01:00 UTC: 25.0 %",
        "Sun 23:00 UTC: 100 %",
    ]
    assert [tick.label for tick in chart.x.ticks] == ["00:00", "06:00", "12:00", "18:00"]


def test_the_picture_says_what_it_shows_and_how_many_owners_it_leaves_out(report):
    many = tuple(use_of(f"team-{number}", 0.5) for number in range(18))

    text = utilization_svg(replace(report, by_owner=many)).replace("\xa0", " ")

    assert "65.5 % of 192 known device-hours were in use by GPU-util." in text
    assert "The same work at 70 % takes 12 fewer device-hours" in text
    assert "and 2 more namespaces" in text
    assert "team-15" in text
    assert "team-16" not in text


def test_an_owners_name_is_text_of_the_picture(report):
    drawn_utilization_svg = utilization_svg(
        replace(report, by_owner=(use_of(HOSTILE, 0.5),), files=(HOSTILE,))
    )

    assert {
        each.tag.rpartition("}")[2] for each in ElementTree.fromstring(drawn_utilization_svg).iter()
    } <= {
        *("svg", "title", "desc", "style", "rect", "text", "g", "polyline", "line"),
    }
    assert "\u202e" not in drawn_utilization_svg


def test_utilization_is_drawn_as_agreed(report, matches_golden):
    matches_golden("utilization.svg", utilization_svg(report))
