import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Bucket
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.timeline.idle_reasons import (
    IDLE_WAITS,
    StreamCalls,
    idle_per_step,
    note_on_held_work,
    note_on_idle_waits,
    stream_calls,
    waits_for_others,
)
from perfledger_profiles.timeline.intervals import NO_CALL, TimeSegments
from perfledger_profiles.timeline.launch_links import launched_work, launches_of

NS = 1e9


def streams(trace):
    columns = trace.columns()
    return stream_calls(columns, launches_of(columns), columns.is_device_work)


def waits_us(trace, steps):
    """Return the host, kernel and other waits of each stream, in us per step."""
    return {
        stream_idle.stream: tuple(
            round(seconds * 1e6, 6)
            for seconds in (
                stream_idle.host_wait_seconds,
                stream_idle.kernel_wait_seconds,
                stream_idle.other_seconds,
            )
        )
        for stream_idle in (idle_per_step(calls, steps) for calls in streams(trace))
    }


def windows(*spans):
    table = np.array(spans, dtype=np.int64)
    return TimeSegments(
        start_ns=table[:, 0], end_ns=table[:, 1], owner=np.arange(len(spans), dtype=np.int64)
    )


WHOLE = windows((0, 1_000_000))


def calls(*spans, launches=None):
    table = np.array(sorted(spans), dtype=np.int64)
    launch_ns = np.full(len(spans), NO_CALL) if launches is None else np.array(launches)
    return StreamCalls(stream="7", start_ns=table[:, 0], end_ns=table[:, 1], launch_ns=launch_ns)


def launched(trace, *spans, stream=7):
    for number, (launch, at, lasts) in enumerate(spans, start=1):
        trace.launch(
            "cudaLaunchKernel",
            launch,
            1,
            kernel="k",
            at=at,
            lasts=lasts,
            correlation=100 * stream + number,
            stream=stream,
        )
    return trace


def test_a_launch_after_the_end_of_the_work_before_is_waiting_for_the_host(trace):
    launched(trace, (0, 10, 10), (50, 60, 5))

    assert waits_us(trace, WHOLE) == {"7": (40, 0, 0)}


def test_gaps_below_30_us_are_between_kernels_and_others_something_else(trace):
    launched(trace, (0, 10, 10), (1, 49, 1), (2, 80, 1))

    assert waits_us(trace, WHOLE) == {"7": (0, 29, 30)}


def test_a_launch_at_the_very_end_of_the_work_before_is_in_time(trace):
    launched(trace, (0, 10, 10), (20, 30, 1))

    assert waits_us(trace, WHOLE) == {"7": (0, 10, 0)}


def test_work_without_a_known_launch_does_not_blame_the_host(trace):
    trace.add("a", 0, 10, cat="kernel", thread=(0, 7), stream=7)
    trace.add("b", 20, 10, cat="kernel", thread=(0, 7), stream=7)

    assert waits_us(trace, WHOLE) == {"7": (0, 10, 0)}


def test_each_stream_has_its_own_gaps(trace):
    launched(trace, (0, 10, 10), (50, 60, 5), stream=7)
    launched(trace, (0, 10, 100), stream=20)

    assert waits_us(trace, WHOLE) == {"7": (40, 0, 0), "20": (0, 0, 0)}


def test_streams_of_several_devices_say_of_which(trace):
    trace.add("a", 0, 10, cat="kernel", thread=(0, 7), stream=7)
    trace.add("b", 0, 10, cat="kernel", thread=(1, 7), stream=7)

    assert [stream_call.stream for stream_call in streams(trace)] == ["0:7", "1:7"]


def test_only_the_part_of_a_gap_that_lies_in_a_step_counts():
    stream_idle = idle_per_step(calls((0, 50), (5_200, 5_300)), windows((0, 1_000), (5_000, 6_000)))

    # 950 ns of the first step and 200 of the second; what lies between is no step's.
    assert stream_idle.kernel_wait_seconds * NS == pytest.approx((950 + 200) / 2)
    assert stream_idle.busy_seconds * NS == pytest.approx((50 + 100) / 2)


def test_what_overlaps_on_a_stream_makes_no_gap_and_hides_none():
    stream_idle = idle_per_step(calls((0, 100), (10, 20), (50_000, 50_010)), windows((0, 60_000)))

    assert stream_idle.other_seconds * NS == pytest.approx(49_900)
    assert stream_idle.kernel_wait_seconds == 0


def test_work_that_began_before_a_step_is_no_gap_of_it():
    stream_idle = idle_per_step(calls((0, 1_500), (1_600, 1_700)), windows((1_000, 2_000)))

    assert stream_idle.busy_seconds * NS == pytest.approx(600)
    assert stream_idle.kernel_wait_seconds * NS == pytest.approx(100)


SPANS = st.lists(
    st.tuples(st.integers(0, 2_000), st.integers(0, 300), st.integers(NO_CALL, 2_000)),
    min_size=1,
    max_size=12,
)


@given(SPANS, st.lists(st.integers(0, 2_300), min_size=2, max_size=8, unique=True))
def test_what_a_stream_did_and_waited_for_is_the_steps_between_its_first_and_last_call(
    spans, edges
):
    spans = sorted((start, start + length, launch) for start, length, launch in spans)
    edges = sorted(edges[: len(edges) // 2 * 2])
    steps = windows(*zip(edges[::2], edges[1::2], strict=True))
    work = calls(*(span[:2] for span in spans), launches=[span[2] for span in spans])
    begin, end = spans[0][0], max(span[1] for span in spans)

    stream_idle = idle_per_step(work, steps)

    waits = (
        stream_idle.host_wait_seconds,
        stream_idle.kernel_wait_seconds,
        stream_idle.other_seconds,
    )
    whole_total = sum(
        max(0, min(stop, end) - max(start, begin))
        for start, stop in zip(edges[::2], edges[1::2], strict=True)
    )
    assert min(waits) >= 0
    assert (stream_idle.busy_seconds + sum(waits)) * NS * len(edges) / 2 == pytest.approx(
        whole_total
    )


def waits_and_note(trace):
    columns = trace.columns()
    work = launched_work(columns, launches_of(columns))
    return waits_for_others(work, WHOLE), note_on_held_work([(work, WHOLE)])


def test_a_device_waits_for_the_host_until_the_launch(trace):
    launched(trace, (0, 2, 10), (100, 105, 10), (200, 206, 10))

    assert waits_and_note(trace) == (False, ())


def test_launched_work_that_does_not_begin_is_held_up_by_what_the_file_lacks(trace):
    """The host then waits in a copy, which is what is held up, not why."""
    launched(trace, (0, 2, 10), (15, 700, 10))
    trace.launch(
        "hipMemcpyWithStream",
        30,
        690,
        kernel="Memcpy DtoH",
        at=711,
        lasts=1,
        stream=7,
        correlation=9,
    )

    waits, (note,) = waits_and_note(trace)

    assert waits
    assert note.startswith("launched work begins up to 0.684 ms late on an idle device")


def test_the_host_is_to_blame_where_it_is_late_for_longer(trace):
    launched(trace, (0, 2, 10), (400, 500, 10))

    assert waits_and_note(trace) == (False, ())


def test_a_call_that_launches_for_long_is_the_hosts_time(trace):
    trace.launch("cudaLaunchKernel", 0, 1, kernel="k", at=2, lasts=10, stream=7, correlation=1)
    trace.launch("cudaGraphLaunch", 15, 600, kernel="k", at=614, lasts=9, stream=7, correlation=2)

    assert waits_and_note(trace) == (False, ())


def test_work_without_launches_has_no_note(trace):
    for at in (0, 500):
        trace.add("k", at, 10, cat="kernel", thread=(0, 7), stream=7)

    assert waits_and_note(trace) == (True, ())


def test_several_devices_have_one_note_with_the_longest_wait(trace):
    launched(trace, (0, 2, 10), (15, 700, 10))
    columns = trace.columns()
    work = launched_work(columns, launches_of(columns))

    (note,) = note_on_held_work([(work, WHOLE), (work, windows((0, 1)))])

    assert "0.684 ms" in note
    assert note_on_held_work([]) == ()


@pytest.mark.parametrize(
    ("waits", "is_noted"),
    [
        ({"name": "cudaDeviceSynchronize", "seconds": 8e-3}, True),
        ({"name": "block_until_ready", "seconds": 8e-3, "count": 0.0}, True),
        ({"name": "cudaStreamSynchronize", "seconds": 8e-3, "count": 100.0}, False),
        ({"name": "hipMemcpyWithStream", "seconds": 8e-3}, False),
        ({"name": "cudaDeviceSynchronize", "seconds": 4e-3}, False),
        ({"name": "aten::mm", "seconds": 8e-3, "bucket": Bucket.COMPUTE}, False),
    ],
)
def test_long_waits_for_an_idle_device_are_noted_if_they_are_most_of_the_hosts_time(
    make, waits, is_noted
):
    """Short waits keep a device waiting, and a copy works on the host while it waits."""
    wait = make.operation(**{"bucket": Bucket.SYNC, **waits})
    launch = make.operation("cudaLaunchKernel", 5e-3, 500.0, bucket=Bucket.RUNTIME)

    notes = note_on_idle_waits((wait, launch))

    assert notes == ((IDLE_WAITS.format("8"),) if is_noted else ())


def test_a_host_that_waits_for_an_idle_device_does_not_bound_the_step(trace):
    """An earlier rule called this "the host, sync": the device works 10 us of 20 ms."""
    trace.step(1, 0, 20_000)
    trace.launch("cudaLaunchKernel", 10, 5, kernel="gemm", at=20, lasts=10, correlation=1)
    trace.add("cudaDeviceSynchronize", 40, 19_000, cat="cuda_runtime")

    profile = trace.read()
    classification = classify(profile)

    assert classification.primary is Bottleneck.UNKNOWN
    assert IDLE_WAITS.format("19") in profile.notes
    assert recommendations(profile, classification) == ()
