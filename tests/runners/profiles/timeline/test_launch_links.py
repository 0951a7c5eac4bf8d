import numpy as np
from hypothesis import given, settings, strategies as st

from perfledger_profiles.timeline.intervals import NO_CALL
from perfledger_profiles.timeline.launch_links import launch_delays_ns, launches_of, queues
from perfledger_profiles.torch_profiler.kineto import read_kineto_trace


def test_a_kernel_is_linked_with_the_innermost_call_that_has_its_number(trace):
    trace.add("cudaLaunchKernel", 0, 20, cat="cuda_runtime", correlation=3)
    trace.add("cuLaunchKernel", 5, 10, cat="cuda_driver", correlation=3)
    trace.add("k", 30, 5, cat="kernel", correlation=3)
    trace.add("lost", 30, 5, cat="kernel", correlation=4).add("none", 30, 5, cat="kernel")

    assert launches_of(trace.columns()).tolist() == [NO_CALL, NO_CALL, 1, NO_CALL, NO_CALL]


def test_the_delay_is_from_the_end_of_the_launch_and_never_negative(trace):
    trace.launch("cudaLaunchKernel", 0, 5, kernel="k", at=12, lasts=1, correlation=1)
    trace.launch("cudaLaunchKernel", 20, 9, kernel="k", at=25, lasts=1, correlation=2)
    columns = trace.columns()

    delays = launch_delays_ns(columns, launches_of(columns), columns.is_device_work)

    assert delays.tolist() == [7000, 0]


def test_a_queue_grows_with_launches_and_shrinks_with_starts_stream_by_stream(trace):
    for number, (launch, start, stream) in enumerate(
        [(0, 10, 7), (1, 20, 7), (2, 5, 20), (15, 30, 7)], start=1
    ):
        trace.launch(
            "cudaLaunchKernel",
            launch,
            1,
            kernel="k",
            at=start,
            lasts=1,
            correlation=number,
            stream=stream,
        )
    columns = trace.columns()

    launch_queues = queues(columns, launches_of(columns))

    assert list(
        zip(launch_queues.time_ns.tolist(), launch_queues.length.tolist(), strict=True)
    ) == [
        (0, 1),
        (1000, 2),
        (10_000, 1),
        (15_000, 2),
        (20_000, 1),
        (30_000, 0),
        (2000, 1),
        (5000, 0),
    ]


def event(name, category, start, thread, correlation):
    fields = {"correlation": correlation, "stream": 7 if category == "kernel" else -1}
    return {
        "ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread,
        "ts": start, "dur": 1, "args": fields,
    }  # fmt: skip


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=8))
def test_queues_of_launches_before_their_starts_are_never_negative_and_end_empty(times):
    many = []
    for number, (launch, delay) in enumerate(times, start=1):
        many.append(event("cudaLaunchKernel", "cuda_runtime", launch, 1, number))
        many.append(event("k", "kernel", launch + delay, number % 2, number))
    columns = read_kineto_trace(str({"traceEvents": many}).replace("'", '"').encode())

    launch_queues = queues(columns, launches_of(columns))

    assert (launch_queues.length >= 0).all()
    assert launch_queues.length[-1] == 0
    assert np.abs(np.diff(launch_queues.length)).max(initial=0) == 1


def test_what_starts_before_its_launch_by_another_clock_was_never_queued(trace):
    trace.launch("cudaLaunchKernel", 20, 1, kernel="k", at=10, lasts=1, correlation=1)
    columns = trace.columns()

    assert queues(columns, launches_of(columns)).length.tolist() == [1, 0]
