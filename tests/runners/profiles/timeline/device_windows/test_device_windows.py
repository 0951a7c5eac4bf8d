"""Steps of programs whose host does not wait for the device in each step."""

import pytest

from perfledger.profile import Bucket
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.timeline.breakdown import BETWEEN_KERNELS
from perfledger_profiles.timeline.device_windows import (
    AHEAD,
    ANNOTATED,
    LATE,
    LOST,
    UNKNOWN_STEPS,
)
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.step_windows import LENT_STEPS, steps_of


def steps_in(trace):
    columns = trace.columns()
    return steps_of(columns, launches_of(columns))


def micros(windows):
    """Return begin and end of each window since the first marker, in microseconds."""
    spans = zip(windows.start_ns.tolist(), windows.end_ns.tolist(), strict=True)
    return [(begin / 1e3, end / 1e3) for begin, end in spans]


def calls(profile):
    return {kernel.name: kernel.count for kernel in profile.kernels}


def seconds(profile, name):
    return sum(one.seconds for one in profile.operations if one.name == name)


@pytest.fixture
def ahead(trace):
    """Return four steps of 10 us on the host, of 40 us on the device: two kernels each."""
    for number in range(4):
        begin = 10 * number
        trace.step(number + 3, begin, 10)
        for place, (name, lasts) in enumerate((("gemm", 30), ("gelu", 9))):
            trace.launch(
                "cudaLaunchKernel",
                begin + 1 + 4 * place,
                2,
                kernel=name,
                at=3 + 40 * number + 31 * place,
                lasts=lasts,
                correlation=10 * number + place + 1,
            )
    return trace.add("cudaDeviceSynchronize", 41, 130, cat="cuda_runtime", correlation=99)


def test_a_step_lasts_from_the_end_of_the_last_ones_work_to_the_end_of_its_own(ahead):
    steps = steps_in(ahead)

    assert micros(steps.segments) == [(0, 43), (43, 83), (83, 123), (123, 163)]
    assert (steps.numbers, steps.is_device_timed) == ((4, 5, 6), True)
    assert steps.notes == (AHEAD.format(2, "s"),)


def test_a_kernel_is_of_the_step_that_launched_it(ahead):
    profile = ahead.read()

    assert calls(profile) == {"gemm": 1, "gelu": 1}
    assert seconds(profile, "gemm") == pytest.approx(30e-6)
    assert profile.step_seconds == pytest.approx(40e-6)
    assert profile.reading("gpu_busy") == pytest.approx(39 / 40)
    assert profile.reading("marked_step_p50") == pytest.approx(10e-6)  # the host is ahead


def test_a_call_of_the_host_is_of_the_step_that_made_it(ahead):
    profile = ahead.read()

    launches = next(one for one in profile.operations if one.name == "cudaLaunchKernel")
    assert (launches.count, launches.seconds) == (2, 0)


def test_the_time_from_a_kernel_to_the_next_in_the_queue_is_the_devices(ahead):
    profile = ahead.read()

    assert seconds(profile, BETWEEN_KERNELS.name) == pytest.approx(1e-6)
    assert sum(profile.bucket_seconds().values()) == pytest.approx(profile.step_seconds)
    assert profile.bucket_seconds()[Bucket.SYNC] == 0
    assert classify(profile).primary is not Bottleneck.HOST


def test_a_wait_for_something_else_is_of_an_unknown_reason(trace):
    for number in range(3):
        trace.step(number, 10 * number, 10)
        launched = {"kernel": "k", "at": 200 * number + 5, "lasts": 100, "correlation": number + 1}
        trace.launch("cudaLaunchKernel", 10 * number + 1, 2, **launched)
    trace.add("cudaDeviceSynchronize", 31, 500, cat="cuda_runtime")

    profile = trace.read()

    assert not profile.is_host_known
    assert classify(profile).primary is Bottleneck.UNKNOWN


def test_a_device_that_waits_for_its_next_launch_waits_for_the_host(trace):
    for number in range(4):
        trace.step(number, 100 * number, 100).add("aten::mm", 100 * number + 5, 80)
        launched = {"kernel": "k", "at": 100 * number + 90, "lasts": 30, "correlation": number + 1}
        trace.launch("cudaLaunchKernel", 100 * number + 86, 2, **launched)

    profile = trace.read()

    assert profile.step_seconds == pytest.approx(100e-6)
    assert (profile.notes, profile.is_host_known) == ((LATE,), True)
    assert classify(profile).primary is Bottleneck.HOST


def test_steps_that_hold_their_work_are_their_markers(trace):
    for number in range(4):
        trace.step(number, 100 * number, 99)
        launched = {"kernel": "k", "at": 100 * number + 9, "lasts": 90, "correlation": number + 1}
        trace.launch("cudaLaunchKernel", 100 * number + 1, 2, **launched)

    steps = steps_in(trace)

    assert micros(steps.segments) == [(100 * number, 100 * number + 99) for number in range(4)]
    assert (steps.is_device_timed, steps.notes) == (False, ())


@pytest.mark.parametrize(("lasts", "is_timed"), [(11, False), (12, True)])
def test_a_kernel_that_ends_after_its_marker_moves_the_step_from_a_hundredth_on(
    trace, lasts, is_timed
):
    trace.step(1, 0, 100).launch(
        "cudaLaunchKernel", 80, 2, kernel="k", at=90, lasts=lasts, correlation=1
    )

    assert steps_in(trace).is_device_timed is is_timed


def test_a_single_step_ends_with_its_work(trace):
    trace.step(1, 0, 100)
    trace.launch("cudaLaunchKernel", 20, 2, kernel="a", at=30, lasts=10, correlation=1)
    trace.launch("cudaLaunchKernel", 90, 2, kernel="b", at=130, lasts=20, correlation=2)

    profile = trace.read()

    assert profile.step_seconds == pytest.approx(150e-6)
    assert calls(profile) == {"a": 1, "b": 1}


def test_work_that_was_queued_before_the_first_step_is_not_of_it(ahead):
    for event in ahead.events:
        if event["cat"] == "kernel":
            event["ts"] += 50
    for number in range(5):
        where = {"cat": "kernel", "thread": (0, "stream 7"), "stream": 7}
        ahead.add("earlier", 10 * number + 2, 10, **where)

    profile = ahead.read()

    assert micros(steps_in(ahead).segments)[0] == (52, 93)
    assert calls(profile) == {"gemm": 1, "gelu": 1}


def test_work_without_a_launch_after_an_idle_device_is_of_the_first_step(trace):
    trace.step(1, 0, 100)
    trace.add("unlinked", 40, 20, cat="kernel", thread=(0, "stream 7"), stream=7)
    trace.launch("cudaLaunchKernel", 65, 2, kernel="k", at=70, lasts=20, correlation=1)

    steps = steps_in(trace)

    assert micros(steps.segments) == [(0, 100)]
    assert calls(trace.read()) == {"unlinked": 1, "k": 1}


def test_steps_whose_work_was_not_all_recorded_are_left_out(ahead):
    ahead.events = [
        event for event in ahead.events if event["cat"] != "kernel" or event["ts"] < 120
    ]

    steps = steps_in(ahead)

    assert micros(steps.segments) == [(0, 43), (43, 83), (83, 123)]
    assert steps.notes == (AHEAD.format(2, "s"), LOST.format(1, 4))


def test_work_on_another_device_is_not_lost(ahead):
    for number in range(2):
        where = {"cat": "cuda_runtime", "correlation": 50 + number}
        ahead.add("cudaLaunchKernel", 10 * number + 8, 1, **where)
        where = {"cat": "kernel", "thread": (1, "stream 7"), "stream": 7, "device": 1}
        ahead.add("other", 40 * number + 9, 30, correlation=50 + number, **where)

    profile = ahead.read()

    assert [device.steps for device in profile.devices] == [3, 2]
    assert profile.devices[0].step_seconds == pytest.approx(40e-6)


def test_a_batch_that_is_copied_ahead_of_its_step_is_of_its_step(ahead):
    for number in range(4):
        ahead.launch(
            "cudaMemcpyAsync",
            10 * number + 8,
            1,
            kernel="Memcpy HtoD (Pinned -> Device)",
            at=10 * number + 10,
            lasts=3,
            correlation=70 + number,
            stream=20,
            cat="gpu_memcpy",
            bytes=300,
        )

    profile = ahead.read()

    assert profile.step_seconds == pytest.approx(40e-6)
    assert calls(profile)["Memcpy HtoD (Pinned -> Device)"] == 1
    assert profile.reading("h2d_time") == pytest.approx(3e-6)


def test_steps_on_alternating_streams_are_timed_by_all_of_them(trace):
    for number in range(4):
        trace.step(number, 10 * number, 10)
        trace.launch(
            "cudaLaunchKernel",
            10 * number + 1,
            2,
            kernel="k",
            at=5 + 40 * number,
            lasts=39,
            correlation=number + 1,
            stream=7 + number % 2,
        )

    assert micros(steps_in(trace).segments) == [(0, 44), (44, 84), (84, 124), (124, 164)]


def test_a_step_that_launches_nothing_while_the_device_is_behind_has_no_time(ahead):
    for event in ahead.events:
        if event["name"] == "ProfilerStep#5":
            event["dur"] = 0.5
    ahead.step(99, 20.5, 0.5)

    assert steps_in(ahead).segments.owner.tolist() == [0, 1, 4]


def annotated(trace, *, begins):
    """Add the device's annotations, and take the launches of its work away."""
    for event in trace.events:
        if event["cat"] == "kernel":
            event["args"]["correlation"] = 0
    for number, begin in enumerate(begins, start=3):
        where = {"cat": "gpu_user_annotation", "thread": (0, "stream 7")}
        trace.add(f"ProfilerStep#{number}", begin, 30, **where)
    return trace


def test_without_launches_steps_are_timed_by_the_devices_annotations(ahead):
    steps = steps_in(annotated(ahead, begins=(3, 43, 83, 123)))

    assert micros(steps.segments) == [(3, 43), (43, 83), (83, 123)]
    assert (steps.numbers, steps.notes) == ((4, 5), (ANNOTATED,))
    assert not ahead.read().is_host_known


@pytest.mark.parametrize("begins", [(), (3,), (43, 3, 83, 123)])
def test_without_launches_or_sound_annotations_the_step_is_unknown(ahead, begins):
    profile = annotated(ahead, begins=begins).read()

    assert (profile.has_steps, profile.steps) == (False, 1)
    assert profile.step_seconds == pytest.approx(160e-6)
    assert profile.notes == (UNKNOWN_STEPS,)


def test_without_launches_a_device_that_is_done_keeps_its_markers(trace):
    for number in range(3):
        trace.step(number, 100 * number, 100)
        trace.add("k", 100 * number + 10, 80, cat="kernel", thread=(0, "stream 7"), stream=7)

    steps = steps_in(trace)

    assert (len(micros(steps.segments)), steps.has_markers, steps.notes) == (3, True, ())


def test_lent_steps_are_timed_on_the_borrowers_device(ahead):
    columns = ahead.columns()
    lender = steps_of(columns, launches_of(columns))
    mine = type(ahead)()
    for number in range(4):
        mine.launch(
            "cudaLaunchKernel",
            10 * number + 1,
            2,
            kernel="k",
            at=2 + 60 * number,
            lasts=60,
            correlation=number + 1,
        )
    mine.add("start", 0, 0.5)
    columns = mine.columns()

    steps = steps_of(columns, launches_of(columns), lent=lender)

    assert micros(steps.segments) == [(0, 62), (62, 122), (122, 182), (182, 242)]
    assert steps.notes[0] == LENT_STEPS


def test_memory_is_that_of_the_hosts_own_steps(ahead):
    for at in range(0, 40, 5):
        text = {"Total Allocated": at, "Bytes": 1, "Device Type": 1, "Device Id": 0}
        ahead.events.append({"ph": "i", "name": "[memory]", "ts": at, "args": text})

    points = ahead.read().memory

    assert max(point.allocated_bytes for point in points) == 35
    assert max(point.seconds for point in points) <= 30e-6
