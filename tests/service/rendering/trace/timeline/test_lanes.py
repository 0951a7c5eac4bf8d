"""Slices become lanes of calls that lie within each other."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket, StepSlice
from perfledger_service.rendering.trace.timeline.lanes import LaneCall, lanes_of

times = st.one_of(st.floats(0, 0.1), st.floats(0, 1e-6), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
slices = st.lists(
    st.builds(
        StepSlice,
        lane=st.sampled_from(["host", "stream 7"]),
        name=st.sampled_from(["a", "b", "<c>\x00"]),
        bucket=st.sampled_from(list(Bucket)),
        start_seconds=times,
        seconds=times,
    ),
    max_size=30,
)


@pytest.mark.slow(ci_only=True)
@given(slices)
@settings(max_examples=80)
def test_calls_lie_within_the_call_around_them(lanes):
    for lane in lanes_of(lanes, most=1000):
        around: list[LaneCall] = []
        for call in lane.calls:
            del around[call.depth :]
            assert len(around) == call.depth
            assert call.start_ns <= call.end_ns
            if around:
                assert around[-1].start_ns <= call.start_ns
                assert call.end_ns <= around[-1].end_ns
            around.append(call)


@pytest.mark.parametrize("start", [float("nan"), float("inf"), -1.0, 1e9])
def test_times_that_no_step_has_are_left_out(start):
    odd = StepSlice(lane="host", name="a", bucket=Bucket.CPU, start_seconds=start, seconds=1.0)

    assert lanes_of([odd, replace(odd, start_seconds=0.0, seconds=-1.0)], most=10) == ()


def test_the_longest_calls_are_kept_in_their_order():
    step_slices = [
        StepSlice(
            lane="host", name=f"{n}", bucket=Bucket.CPU, start_seconds=n, seconds=(n % 5) / 10
        )
        for n in range(20)
    ]

    (lane,) = lanes_of(step_slices, most=4)

    assert [call.name for call in lane.calls] == ["4", "9", "14", "19"]
