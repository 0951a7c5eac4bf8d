from dataclasses import replace

import pytest

from perfledger_profiles.cause import Explanation
from perfledger_profiles.roofline import Ceilings
from perfledger_service.pages.roofline_plot import roofline_plot
from perfledger_service.pages.step_pictures import step_pictures


@pytest.fixture
def diff_explanation():
    def explanation(workload):
        return Explanation(
            workload=workload,
            base_step_seconds=0.01,
            head_step_seconds=0.01,
            causes=(),
            rest_seconds=0.0,
            is_attributable=True,
        )

    return explanation


@pytest.fixture
def roof(make):
    return make.trace_view().roof


def test_kernels_lie_below_the_roof_and_on_their_side_of_the_ridge(roof):
    plot = roofline_plot(roof)

    assert plot is not None
    gemm, softmax = plot.dots
    assert softmax.x < plot.ridge_x < gemm.x
    assert (softmax.is_memory_bound, gemm.is_memory_bound) == (True, False)
    assert gemm.y > plot.flat[1]
    assert plot.slope[2:] == plot.flat[:2]
    assert plot.ridge.replace("\u00a0", " ") == "295.3 FLOP/B"


def test_a_dot_says_how_much_of_the_roof_it_reaches(roof):
    plot = roofline_plot(roof)

    assert plot is not None
    assert (
        plot.dots[1]
        .title.replace("\u00a0", " ")
        .endswith("2.90 TFLOP/s at 1.200 FLOP/B, 72 % of the roof there")
    )


def test_a_dots_area_is_its_share_of_the_time_and_its_number_its_row(roof):
    plot = roofline_plot(roof, names=["another", roof.points[1].name])

    assert plot is not None
    assert plot.dots[0].radius > plot.dots[1].radius
    assert [dot.number for dot in plot.dots] == ["", "2"]


def test_a_checks_page_has_the_roofline_of_its_head(make, diff_explanation):
    head = make.profile()
    roofs = {head.workload: make.trace_view().roof}

    (pictures,) = step_pictures([diff_explanation(head.workload)], [head], roofs=roofs)
    (without,) = step_pictures([diff_explanation(head.workload)], [head], roofs={})

    assert pictures.roofline is not None
    assert len(pictures.roofline.dots) == 2
    assert without.roofline is None


def test_dots_that_lie_on_each_other_have_one_label(roof):
    gemm, softmax = roof.points
    twin = replace(gemm, name="twin")

    plot = roofline_plot(
        replace(roof, points=(gemm, twin, softmax)), names=[gemm.name, softmax.name, "twin"]
    )

    assert plot is not None
    assert sorted(dot.number for dot in plot.dots) == ["", "1, 3", "2"]


def test_two_launches_of_one_kernel_have_its_number_once(roof):
    gemm, _ = roof.points

    plot = roofline_plot(replace(roof, points=(gemm, gemm)), names=[gemm.name])

    assert plot is not None
    assert [dot.number for dot in plot.dots] == ["1", ""]


@pytest.mark.parametrize("value", [1e-6, 2e-6, 1e-5, 1.1e-5, 9e23])
def test_the_axis_of_a_kernel_at_the_limits_has_ticks(roof, value):
    gemm, softmax = roof.points

    plot = roofline_plot(replace(roof, points=(replace(gemm, flops_per_second=value), softmax)))

    assert plot is not None
    assert len(plot.dots) == 1 + (value > 1e-5)
    assert all(tick.label for tick in plot.y_ticks)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e300, 5e-324])
def test_a_kernel_that_no_device_runs_has_no_dot(roof, value):
    gemm, softmax = roof.points

    plot = roofline_plot(
        replace(roof, points=(replace(gemm, intensity_flop_per_byte=value), softmax))
    )

    assert plot is not None
    assert len(plot.dots) == 1


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_without_a_roof_or_a_kernel_there_is_no_chart(roof, value):
    for ceilings in (Ceilings(value, 3.35e12), Ceilings(989.4e12, value)):
        assert roofline_plot(replace(roof, ceilings=ceilings)) is None
    assert roofline_plot(replace(roof, points=())) is None
