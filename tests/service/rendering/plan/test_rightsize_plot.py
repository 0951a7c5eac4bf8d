"""Load curves as pictures: made up of M/M/1 queues, so that every latency is known."""

import math
from dataclasses import replace
from datetime import date
from decimal import Decimal
from xml.etree import ElementTree

import pytest

from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.serving.load_curve import LoadCurve, LoadMode, LoadPoint
from perfledger_cost_models.serving.rightsizing import ServingDemand, Tariff, right_size
from perfledger_service.rendering.chart.marks import (
    SERIES_TONES,
    BandMark,
    DotMark,
    LineMark,
    RuleMark,
)
from perfledger_service.rendering.chart.picture import KeyShape
from perfledger_service.rendering.plan.rightsize_plot import sizing_chart, sizing_svg

DEMAND = ServingDemand(rate_per_second=100.0, p99_s=0.1, headroom=0.2)
DEVICES = ("H100-80GB", "A100-80GB", "L4")
TARIFF = Tariff(
    rate=HourlyRate(
        option="x/on_demand",
        label="x",
        accelerator="H100-80GB",
        usd_per_device_hour=Decimal(2),
        low=Decimal(2),
        high=Decimal(2),
        as_of=date(2026, 11, 20),
        is_read_date=False,
        source="made up",
    )
)


def point(rate, p99_s, **values):
    return LoadPoint(
        **{
            "mode": LoadMode.OPEN,
            "offered_per_second": rate,
            "throughput_per_second": rate,
            "completed": 5_000_000,
            "latency_p95_s": p99_s * math.log(20) / math.log(100),
            "latency_p99_s": p99_s,
        }
        | values
    )


def curve(capacity, device=DEVICES[0], *, workload="m:f", extra=()):
    points = tuple(
        point(share * capacity, math.log(100) / (capacity - share * capacity))
        for share in (0.2, 0.4, 0.55, 0.7, 0.8, 0.88)
    )
    return LoadCurve(workload=workload, device=device, devices=1, points=(*points, *extra))


def sizing_result(*curves):
    return right_size(curves, {device: [TARIFF] for device in DEVICES}, DEMAND)


@pytest.fixture(scope="module")
def result():
    """The sizes of one setting that serves up to 100 requests a second."""
    return sizing_result(curve(100.0))


def test_measured_points_are_dots_at_their_rate_and_latency(result, marks_of):
    chart = sizing_chart(result)

    dots = [dot for dot in marks_of(chart, DotMark) if not dot.is_open]
    assert [dot.x for dot in dots] == pytest.approx([20, 40, 55, 70, 80, 88])
    assert dots[0].y == pytest.approx(math.log(100) / 80)
    assert dots[0].title.replace("\xa0", " ") == "20/s: P99 57.6 ms"


def test_the_promise_is_a_line_and_the_plan_a_ring_below_it(result, marks_of):
    chart = sizing_chart(result)

    (rule,) = marks_of(chart, RuleMark)
    rings = [dot for dot in marks_of(chart, DotMark) if dot.is_open]
    assert (rule.y, rule.label.replace("\xa0", " ")) == (0.1, "promised: 100 ms")
    assert rings[0].x == result.best[0].replica_rate
    assert all(ring.y <= 0.1 for ring in rings[: len(result.best)])


def test_a_fitted_line_lies_within_its_band_and_the_axes(result, marks_of):
    chart = sizing_chart(result)

    (band,), (line,) = marks_of(chart, BandMark), marks_of(chart, LineMark)[:1]
    assert [x for x, _ in line.points] == [x for x, _, _ in band.points]
    assert all(
        chart.y.low <= low <= middle <= high <= chart.y.high
        for (_, middle), (_, low, high) in zip(line.points, band.points, strict=True)
    )
    assert chart.y.high == pytest.approx(0.6)


def test_a_line_begins_a_third_below_the_lowest_measured_rate(result, marks_of):
    chart = sizing_chart(result)

    line = marks_of(chart, LineMark)[0]
    assert (chart.x.low, line.points[0][0]) == pytest.approx((14.0, 14.0))


def test_an_interval_of_a_measured_latency_is_drawn_to_its_ends(marks_of):
    sure = point(50.0, 0.09, latency_p99_low_s=0.08, latency_p99_high_s=5.0)

    chart = sizing_chart(sizing_result(curve(100.0, extra=(sure,))))

    ends = [line.points for line in marks_of(chart, LineMark) if line.width == 1.5]
    assert ends == [((50.0, 0.08), (50.0, chart.y.high))]


def test_a_point_that_did_not_keep_up_is_not_drawn(marks_of):
    behind = point(200.0, 0.09, throughput_per_second=95.0)

    chart = sizing_chart(sizing_result(curve(100.0, extra=(behind,))))

    assert not any(dot.title.startswith(("200/s", "95/s")) for dot in marks_of(chart, DotMark))


@pytest.mark.slow
def test_every_setting_has_a_colour_and_its_loop_in_the_legend():
    chart = sizing_chart(sizing_result(curve(100.0), curve(40.0, DEVICES[1])))

    labels = [key.label for key in chart.legend]
    assert len(labels) == 2 + 3
    assert all(label.endswith(", open loop") for label in labels[:2])
    assert [key.tone for key in chart.legend[:2]] == list(SERIES_TONES[:2])
    assert [key.shape for key in chart.legend[2:]] == [KeyShape.DOT, KeyShape.RING, KeyShape.BOX]


@pytest.mark.slow(ci_only=True)
def test_a_closed_loop_is_said_to_be_a_screening():
    points = tuple(
        LoadPoint(
            mode=LoadMode.CLOSED,
            concurrency=count,
            throughput_per_second=100.0 * count / (count + 1),
            completed=5_000_000,
            latency_p50_s=0.01 * (count + 1) * 0.9,
            latency_p95_s=0.01 * (count + 1),
            latency_p99_s=0.01 * (count + 1) * 1.1,
        )
        for count in (1, 2, 4)
    )
    closed = replace(curve(100.0), points=points)

    chart = sizing_chart(sizing_result(closed))

    assert chart.legend[0].label.endswith("closed loop: M/G/k (screening)")


def test_a_name_of_others_is_text_of_the_picture():
    hostile = "</title><script>\u202e"

    drawn_sizing_svg = sizing_svg(sizing_result(curve(100.0, workload=hostile)))

    tags = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(drawn_sizing_svg).iter()}
    assert "script" not in tags
    assert "\u202e" not in drawn_sizing_svg


def test_a_load_curve_is_drawn_as_agreed(result, matches_golden):
    matches_golden("rightsize.svg", sizing_svg(result))
