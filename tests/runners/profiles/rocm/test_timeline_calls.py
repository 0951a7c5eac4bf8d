import pytest

from perfledger_profiles.rocm.timeline_calls import TimelineCall, trace_of_calls
from perfledger_profiles.timeline.trace import MAX_COUNT, UNKNOWN, CallKind, LaunchConfiguration


def call(start_ns, end_ns, **fields):
    return TimelineCall(
        **{"name": "k", "kind": CallKind.KERNEL, "start_ns": start_ns, "end_ns": end_ns} | fields
    )


@pytest.mark.parametrize(
    ("start_ns", "end_ns", "dropped"),
    [(5, 5, 0), (5, 4, 1), (-1, 5, 1), (0, MAX_COUNT, 0), (0, MAX_COUNT + 1, 1), (2**70, 2**71, 1)],
)
def test_a_call_that_ends_before_it_starts_or_outside_all_clocks_is_dropped(
    start_ns, end_ns, dropped
):
    trace = trace_of_calls([call(0, 10), call(start_ns, end_ns)], tool="tool")

    assert (trace.name.size, trace.dropped_events) == (2 - dropped, dropped)


def test_times_are_since_the_first_call():
    trace = trace_of_calls([call(2**60 + 5, 2**60 + 9), call(2**60, 2**60 + 1)], tool="tool")

    assert trace.epoch_ns == 2**60
    assert trace.start_ns.tolist() == [5, 0]
    assert trace.end_ns.tolist() == [9, 1]


def test_calls_keep_where_they_ran_and_how_they_were_launched():
    launch = LaunchConfiguration(block=(64, 1, 1))
    host = call(0, 1, kind=CallKind.RUNTIME, process=7, thread=8, correlation=3)
    copy = call(0, 1, kind=CallKind.COPY, thread="copies", bytes=64)

    trace = trace_of_calls([call(0, 1, thread=2, launch=launch), copy, host], tool="tool")

    assert [(lane.process, lane.thread, lane.is_device) for lane in trace.lanes] == [
        (0, 2, True),
        (0, "copies", True),
        (7, 8, False),
    ]
    assert trace.launches == (launch,)
    assert trace.launch.tolist() == [0, UNKNOWN, UNKNOWN]
    assert trace.stream.tolist() == [2, UNKNOWN, UNKNOWN]
    assert trace.bytes.tolist() == [UNKNOWN, 64, UNKNOWN]
    assert trace.correlation.tolist() == [UNKNOWN, UNKNOWN, 3]


def test_no_call_is_an_empty_trace():
    assert trace_of_calls([], tool="tool").name.size == 0
