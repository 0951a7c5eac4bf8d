from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket, StepSlice
from perfledger_service.rendering.chart.marks import BarMark, Tone
from perfledger_service.rendering.trace.timeline.timeline import (
    StepWindow,
    longest_seconds,
    timeline_chart,
)


def a_slice(start, seconds, *, lane="host", name="aten::mul", bucket=Bucket.CPU):
    return StepSlice(lane=lane, name=name, bucket=bucket, start_seconds=start, seconds=seconds)


@pytest.fixture
def chart_of(make):
    def chart_of(slices, *, span_seconds=1.0, **values):
        profile = replace(make.profile(), slices=tuple(slices))
        return timeline_chart(profile, span_seconds=span_seconds, **values)

    return chart_of


@pytest.fixture
def calls_of(marks_of):
    def calls_of(chart):
        return [bar for bar in marks_of(chart, BarMark) if bar.tone is not Tone.TRACK]

    return calls_of


def test_a_lane_has_its_calls_in_rows_by_depth(make, calls_of):
    profile = make.profile()

    chart = timeline_chart(profile, span_seconds=longest_seconds(profile))

    assert chart is not None
    assert [tick.label for tick in chart.y.ticks] == ["host", "stream 7"]
    outer, inner, gemm, _ = calls_of(chart)
    assert inner.y[0] - outer.y[0] == 1
    assert outer.x[0] <= inner.x[0] < inner.x[1] <= outer.x[1]
    assert gemm.label == "ampere_sgemm_128x64_tn"
    assert gemm.title.replace("\u00a0", " ") == "ampere_sgemm_128x64_tn: 3.90 ms, compute"
    assert [key.label for key in chart.legend] == ["compute", "CPU"]


def test_two_steps_on_one_axis_can_be_compared(make, calls_of):
    short, long = make.profile(softmax_s=0.001), make.profile(softmax_s=0.005)
    span = longest_seconds(short, long)

    charts = [timeline_chart(profile, span_seconds=span) for profile in (short, long)]

    ends = [max(call.x[1] for call in calls_of(chart)) for chart in charts if chart]
    assert ends == pytest.approx([0.006, 0.01], abs=2e-5)
    assert {chart.x.high for chart in charts if chart} == {span}


def test_there_is_no_picture_of_no_calls(chart_of):
    assert chart_of([]) is None
    assert chart_of([a_slice(0, 1)], span_seconds=0.0) is None


def test_calls_narrower_than_a_pixel_are_drawn_as_one_with_their_number(chart_of, calls_of):
    many = [a_slice(n * 1e-5, 0.9e-5) for n in range(10_000)]

    chart = chart_of([*many, a_slice(0.5, 0.1, lane="other")])

    assert chart is not None
    assert len(calls_of(chart)) <= 1200
    assert calls_of(chart)[0].title.startswith(
        "10000 calls, 90.0\u00a0ms; the longest is aten::mul"
    )


def test_a_wide_call_stays_alone_between_narrow_ones(chart_of, calls_of):
    chart = chart_of([a_slice(0.1, 1e-6), a_slice(0.2, 0.1), a_slice(0.300001, 1e-6)])

    assert chart is not None
    widths = [call.x[1] - call.x[0] for call in calls_of(chart)]
    assert widths == pytest.approx([0.0, 0.1, 0.0], abs=2e-3)


def test_what_is_not_drawn_is_said(chart_of):
    nested = [a_slice(n / 100, 0.9 - n / 50, lane="host") for n in range(12)]
    lanes = [a_slice(0, 1, lane=f"stream {n}") for n in range(20)]

    chart = chart_of([*nested, *lanes])

    assert chart is not None
    assert chart.caption.endswith("began. Not drawn: 9 more lanes, calls deeper than 8.")
    assert len(chart.y.ticks) == 12


def test_a_picture_has_limits_whatever_the_file_holds(chart_of, calls_of):
    @settings(max_examples=25)
    @given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 30)), max_size=60))
    def holds(elements):
        chart = chart_of(
            [a_slice(start, seconds, lane=f"{lane}") for start, seconds, lane in elements],
            span_seconds=2.0,
        )
        if chart is not None:
            calls = calls_of(chart)
            assert all(0 <= chart.x.share(end) <= 1 for call in calls for end in call.x)
            assert all(0 <= chart.y.share(end) <= 1 for call in calls for end in call.y)

    holds()


def test_a_part_of_the_step_shows_what_the_whole_draws_as_one(chart_of, calls_of):
    many = [a_slice(n * 1e-5, 0.9e-5) for n in range(10_000)]
    part = StepWindow(start_seconds=0.0201, end_seconds=0.0211)

    whole_chart, chart = chart_of(many), chart_of(many, window=part)

    assert whole_chart is not None
    assert chart is not None
    assert (chart.x.low, chart.x.high) == (part.start_seconds, part.end_seconds)
    assert len(calls_of(whole_chart)) == 1
    assert len(calls_of(chart)) == 100
    assert "aten::mul: 9.00\u00a0µs" in calls_of(chart)[5].title
    assert all(0 <= chart.x.share(end) <= 1 for call in calls_of(chart) for end in call.x)


def test_a_call_that_leaves_a_part_is_cut_off_and_keeps_its_duration(chart_of, calls_of):
    window = StepWindow(start_seconds=0.4, end_seconds=0.6)
    chart = chart_of([a_slice(0.1, 0.8), a_slice(0.0, 0.05)], window=window)

    assert chart is not None
    (call,) = calls_of(chart)
    assert call.x == pytest.approx((0.4, 0.6), abs=1e-3)
    assert call.title.startswith("aten::mul: 800\u00a0ms")


def test_a_page_may_ask_for_fewer_bars(chart_of, calls_of):
    apart = [a_slice(n / 100, 0.005) for n in range(100)]

    chart = chart_of(apart, most=20)

    assert chart is not None
    assert len(calls_of(chart)) <= 20
    assert len(calls_of(chart_of(apart))) == 100


@pytest.mark.parametrize(("start", "end"), [(0, 0), (1, 0.5), (-1, 1), (0, float("inf"))])
def test_a_part_without_time_is_none(start, end):
    with pytest.raises(ValueError, match="no part of a step"):
        StepWindow(start_seconds=start, end_seconds=end)
