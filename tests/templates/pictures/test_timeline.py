from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket, Slice
from perfledger_service.pages.timeline import longest_seconds, timeline_plot


def a_slice(start, seconds, *, lane="host", name="aten::mul", bucket=Bucket.CPU):
    return Slice(lane=lane, name=name, bucket=bucket, start_seconds=start, seconds=seconds)


@pytest.fixture
def plot_of(make):
    def plot_of(slices, *, span_seconds=1.0):
        profile = replace(make.profile(), slices=tuple(slices))
        return timeline_plot(profile, span_seconds=span_seconds)

    return plot_of


def test_a_lane_has_its_calls_in_rows_by_depth(make):
    profile = make.profile()

    plot = timeline_plot(profile, span_seconds=longest_seconds(profile))

    assert plot is not None
    assert [lane.name for lane in plot.lanes] == ["host", "stream 7"]
    outer, inner, gemm, _ = plot.shapes
    assert inner.y - outer.y == 15
    assert outer.x <= inner.x < inner.x + inner.width <= outer.x + outer.width
    assert gemm.label == "ampere_sgemm_128x64_tn"
    assert gemm.title.replace("\u00a0", " ") == "ampere_sgemm_128x64_tn: 3.90 ms, compute"
    assert inner.label == "aten…"


def test_two_steps_on_one_axis_can_be_compared(make):
    short, long = make.profile(softmax_s=0.001), make.profile(softmax_s=0.005)
    span = longest_seconds(short, long)

    plots = [timeline_plot(profile, span_seconds=span) for profile in (short, long)]

    ends = [max(shape.x + shape.width for shape in plot.shapes) for plot in plots if plot]
    assert ends == pytest.approx([130 + 814 * 0.6, 944], abs=0.1)


def test_there_is_no_picture_of_no_calls(plot_of):
    assert plot_of([]) is None
    assert plot_of([a_slice(0, 1)], span_seconds=0.0) is None


def test_calls_narrower_than_a_pixel_are_drawn_as_one_with_their_number(plot_of):
    many = [a_slice(n * 1e-5, 0.9e-5) for n in range(10_000)]

    plot = plot_of([*many, a_slice(0.5, 0.1, lane="other")])

    assert plot is not None
    assert len(plot.shapes) <= 1200
    assert plot.shapes[0].title.startswith("10000 calls, 90.0\u00a0ms; the longest is aten::mul")


def test_a_wide_call_stays_alone_between_narrow_ones(plot_of):
    plot = plot_of([a_slice(0.1, 1e-6), a_slice(0.2, 0.1), a_slice(0.300001, 1e-6)])

    assert plot is not None
    assert [round(shape.width, 1) for shape in plot.shapes] == [0.8, 81.4, 0.8]


def test_what_is_not_drawn_is_said(plot_of):
    nested = [a_slice(n / 100, 0.9 - n / 50, lane="host") for n in range(12)]
    lanes = [a_slice(0, 1, lane=f"stream {n}") for n in range(20)]

    plot = plot_of([*nested, *lanes])

    assert plot is not None
    assert plot.note == "Not drawn: 9 more lanes, calls deeper than 8."
    assert len(plot.lanes) == 12


def test_a_picture_has_limits_whatever_the_file_holds(plot_of):
    @settings(max_examples=25)
    @given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 30)), max_size=60))
    def holds(found):
        plot = plot_of(
            [a_slice(start, seconds, lane=f"{lane}") for start, seconds, lane in found],
            span_seconds=2.0,
        )
        if plot is not None:
            assert all(130 <= shape.x <= shape.x + shape.width <= 945 for shape in plot.shapes)
            assert all(shape.y + 15 <= plot.height for shape in plot.shapes)

    holds()
