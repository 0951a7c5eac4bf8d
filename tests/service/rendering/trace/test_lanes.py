"""Slices become lanes, and lanes become files for other viewers of traces."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket, StepSlice
from perfledger_service.rendering.trace.chrome_trace import MAX_EVENTS, chrome_trace
from perfledger_service.rendering.trace.lanes import LaneCall, lanes_of

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


@given(slices)
@settings(max_examples=80)
def test_calls_lie_within_the_call_around_them(found):
    for lane in lanes_of(found, most=1000):
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
    found = [
        StepSlice(
            lane="host", name=f"{n}", bucket=Bucket.CPU, start_seconds=n, seconds=(n % 5) / 10
        )
        for n in range(20)
    ]

    (lane,) = lanes_of(found, most=4)

    assert [call.name for call in lane.calls] == ["4", "9", "14", "19"]


def events_of(profiles):
    return json.loads(json.dumps(chrome_trace(profiles)))["traceEvents"]


def test_a_chrome_trace_has_a_process_for_each_side_and_a_thread_for_each_lane(make):
    events = events_of({"base": make.profile(), "head": make.profile()})
    names = [event["args"]["name"] for event in events if event["ph"] == "M"]

    assert names[:3] == ["base: the step nearest to the median", "host", "stream 7"]
    assert {event["pid"] for event in events} == {1, 2}
    (kernel,) = [e for e in events if e["name"] == "ampere_sgemm_128x64_tn" and e["pid"] == 2]
    assert (kernel["ts"], kernel["dur"], kernel["tid"]) == (1000.0, 3900.0, 2)


def test_a_chrome_trace_says_how_many_calls_it_leaves_out(make):
    one = make.profile().slices[0]
    many = tuple(replace(one, start_seconds=float(n), seconds=0.5) for n in range(MAX_EVENTS + 10))

    events = events_of({"head": replace(make.profile(), slices=many)})

    assert events[0]["args"]["name"].endswith("without its 10 shortest calls")
    assert len(events) == MAX_EVENTS + 2
