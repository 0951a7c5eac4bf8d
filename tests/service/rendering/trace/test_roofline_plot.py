from dataclasses import replace

import pytest

from perfledger_profiles.hardware.roofline import RooflineCeilings
from perfledger_service.rendering.chart.marks import DotMark, LineMark, TextMark, Tone
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.trace.roofline_plot import roofline_chart


@pytest.fixture
def roof(make):
    return make.trace_view().roof


def test_kernels_lie_below_the_roof_and_on_their_side_of_the_ridge(roof, marks_of):
    chart = roofline_chart(roof)

    assert chart is not None
    gemm, softmax = marks_of(chart, DotMark)
    line = marks_of(chart, LineMark)[0]
    (foot, low), (ridge, peak), (end, flat) = line.points
    assert softmax.x < ridge < gemm.x
    assert (softmax.tone, gemm.tone) == (Tone.ORANGE, Tone.BLUE)
    assert gemm.y < peak == flat
    assert low / foot == pytest.approx(roof.ceilings.peak_bytes_per_second)
    assert end == chart.x.high
    assert marks_of(chart, TextMark)[1].text.endswith("up to 295.3 FLOP/B")


def test_a_dot_says_how_much_of_the_roof_it_reaches(roof, marks_of):
    dots = marks_of(roofline_chart(roof), DotMark)

    title = dots[1].title.replace("\u00a0", " ")
    assert title.endswith("2.90 TFLOP/s at 1.200 FLOP/B, 72 % of the roof there")


def test_a_dots_area_is_its_share_of_the_time_and_its_number_its_row(roof, marks_of):
    dots = marks_of(roofline_chart(roof, names=["another", roof.points[1].name]), DotMark)

    assert dots[0].radius > dots[1].radius
    assert [dot.label for dot in dots] == ["", "2"]


def test_dots_that_lie_on_each_other_have_one_label(roof, marks_of):
    gemm, softmax = roof.points
    twin = replace(gemm, name="twin")

    chart = roofline_chart(
        replace(roof, points=(gemm, twin, softmax)), names=[gemm.name, softmax.name, "twin"]
    )

    assert sorted(dot.label for dot in marks_of(chart, DotMark)) == ["", "1, 3", "2"]


def test_two_launches_of_one_kernel_have_its_number_once(roof, marks_of):
    gemm, _ = roof.points

    chart = roofline_chart(replace(roof, points=(gemm, gemm)), names=[gemm.name])

    assert [dot.label for dot in marks_of(chart, DotMark)] == ["1", ""]


@pytest.mark.parametrize("value", [1e-6, 2e-6, 1e-5, 1.1e-5, 9e23])
def test_the_axis_of_a_kernel_at_the_limits_has_ticks(roof, value, marks_of):
    gemm, softmax = roof.points

    chart = roofline_chart(replace(roof, points=(replace(gemm, flops_per_second=value), softmax)))

    assert chart is not None
    assert len(marks_of(chart, DotMark)) == 1 + (value > 1e-5)
    assert all(tick.label for tick in chart.y.ticks)


def test_every_power_of_ten_of_a_roof_has_its_prefix(roof):
    low, high = (replace(roof.points[0], flops_per_second=value) for value in (1.1e-5, 9e23))

    chart = roofline_chart(replace(roof, points=(low, high)))

    assert chart is not None
    labels = [tick.label.replace("\u00a0", " ") for tick in chart.y.ticks]
    assert [label.removesuffix("FLOP/s") for label in labels] == [
        *("1 µ", "100 µ", "10 m", "1 ", "100 ", "10 k", "1 M", "100 M"),
        *("10 G", "1 T", "100 T", "10 P", "1 E", "100 E", "10 Z", "1 Y"),
    ]


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e300, 5e-324])
def test_a_kernel_that_no_device_runs_has_no_dot(roof, value, marks_of):
    gemm, softmax = roof.points

    chart = roofline_chart(
        replace(roof, points=(replace(gemm, intensity_flop_per_byte=value), softmax))
    )

    assert chart is not None
    assert len(marks_of(chart, DotMark)) == 1


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_without_a_roof_or_a_kernel_there_is_no_chart(roof, value):
    for ceilings in (RooflineCeilings(value, 3.35e12), RooflineCeilings(989.4e12, value)):
        assert roofline_chart(replace(roof, ceilings=ceilings)) is None
    assert roofline_chart(replace(roof, points=())) is None


def test_a_roofline_is_drawn_as_agreed(roof, matches_golden):
    chart = roofline_chart(roof)

    assert chart is not None
    matches_golden("roofline.svg", embedded_svg(chart, label="roofline"))
