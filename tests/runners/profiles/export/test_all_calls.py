from perfledger_profiles.export.all_calls import XLA_UNREAD, calls_of_planes, calls_of_trace
from perfledger_profiles.export.speedscope import omission_note
from perfledger_profiles.xla.planes import XEvent, XLine, XPlane


def test_every_line_of_an_xla_profile_is_a_lane():
    event = XEvent(name="fusion", start_ns=50, end_ns=70)
    plane = XPlane(
        name="/device:TPU:0",
        lines=(XLine(name="XLA Ops", events=(event, event)), XLine(name="Steps", events=())),
    )

    calls = calls_of_planes([plane], dropped_events=1)

    assert [(one.lane, one.is_device, one.name.size) for one in calls.lanes] == [
        ("TPU:0 XLA Ops", True, 2)
    ]
    assert (calls.names, calls.dropped_events) == (("fusion",), 1)
    assert omission_note(calls) == f"1 event could not be read; {XLA_UNREAD}"


def test_a_traces_threads_come_before_its_streams(trace):
    trace.launch("cudaLaunchKernel", 0, 5, kernel="gemm", at=10, lasts=5, correlation=1)
    trace.add("aten::mm", 0, 9)
    trace.add("forward", 10, 5, cat="gpu_user_annotation", thread=(0, 7))

    calls = calls_of_trace(trace.columns())

    assert [(one.lane, one.is_device, one.name.size) for one in calls.lanes] == [
        ("thread 1", False, 2),
        ("stream 7", True, 1),
    ]
    assert calls.count == 3


def test_threads_of_several_processes_are_named_by_both_numbers(trace):
    trace.add("a", 0, 1).add("b", 0, 1, thread=(2, 1))

    assert {one.lane for one in calls_of_trace(trace.columns()).lanes} == {
        "thread 1:1",
        "thread 2:1",
    }
