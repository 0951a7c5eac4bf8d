"""What a profile says beside its operations: steps, streams, readings, slices, memory."""

import pytest

from perfledger.profile import Bucket
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.device_scopes import LITTLE_WORK
from perfledger_profiles.timeline.memory import MAX_POINTS


def test_each_kept_step_has_its_number_and_its_buckets_sum_to_it(steps):
    each_step = steps.read().each_step

    assert [step.number for step in each_step] == [5, 6]
    assert [sum(step.buckets) for step in each_step] == [step.seconds for step in each_step]
    assert each_step[0].seconds == pytest.approx(1000e-6)
    buckets = dict(zip(Bucket, each_step[0].buckets, strict=True))
    assert buckets[Bucket.COMPUTE] == pytest.approx(300e-6)
    assert buckets[Bucket.COMMUNICATION] == pytest.approx(100e-6)
    assert buckets[Bucket.INPUT] == pytest.approx(100e-6)


def test_a_pipe_of_data_is_input_as_a_loader_is(trace):
    trace.step(1, 0, 1000).add("enumerate(DataPipe)#MapperIterDataPipe", 100, 300)

    content = trace.read()

    assert content.bucket_seconds()[Bucket.INPUT] == pytest.approx(300e-6)
    assert content.reading("input_wait_frac") == pytest.approx(0.3)


def test_the_median_of_all_steps_is_told_where_some_do_not_count(trace):
    for number, length in enumerate((900, 100, 120, 110)):
        trace.step(number, 1000 * number, length)

    assert trace.read().reading("marked_step_p50") == pytest.approx(115e-6)


def test_a_collective_on_a_thread_of_the_host_is_exposed_where_nothing_else_works(trace):
    trace.step(1, 0, 1000).add("aten::mm", 0, 300)
    trace.add("autograd::engine::evaluate_function: MmBackward0", 300, 200, thread=(1, 2))
    trace.add("gloo:all_reduce", 100, 700, cat="user_annotation", thread=(1, 3))

    content = trace.read()

    assert content.bucket_seconds()[Bucket.COMMUNICATION] == pytest.approx(300e-6)
    assert content.bucket_seconds()[Bucket.COMPUTE] == pytest.approx(500e-6)
    assert content.reading("comm_time") == pytest.approx(700e-6)
    assert content.reading("comm_overlap") == pytest.approx(4 / 7)


def test_collectives_of_another_rank_in_a_joined_file_are_no_time_of_these_steps(trace):
    trace.step(1, 0, 100).add("aten::mm", 0, 60)
    trace.add("gloo:all_reduce", 50, 30, cat="user_annotation", thread=(1, 3))
    trace.add("gloo:all_reduce", 0, 40, cat="user_annotation", thread=(2, 3))

    content = trace.read()

    assert content.reading("comm_time") == pytest.approx(30e-6)
    assert content.reading("comm_overlap") == pytest.approx(1 / 3)


def test_a_call_around_a_collective_does_not_hide_it(trace):
    trace.step(1, 0, 1000).add("autograd::engine::evaluate_function: AccumulateGrad", 0, 500)
    trace.add("c10d::allreduce_", 100, 400)

    content = trace.read()

    assert content.bucket_seconds()[Bucket.COMMUNICATION] == pytest.approx(400e-6)
    assert content.reading("comm_overlap") == pytest.approx(0.0)


def test_streams_say_why_they_stood_still_per_step(steps):
    stream, other = steps.read().streams

    assert (stream.stream, stream.busy_seconds) == ("7", pytest.approx(400e-6))
    # 200 us before each copy; the kernels' launches came after all was done: 200 us of the first
    # step, then 200 to its end and 200 of the second.
    assert stream.other_seconds == pytest.approx(200e-6)
    assert stream.host_wait_seconds == pytest.approx(600e-6 / 2)
    assert (other.stream, other.busy_seconds) == ("20", pytest.approx(200e-6))


def test_the_device_is_the_one_that_worked(steps):
    names = ["NVIDIA T4", "NVIDIA A100"]
    steps.header = {"deviceProperties": [{"id": n, "name": name} for n, name in enumerate(names)]}
    for begin in (1000, 2000):
        steps.add("k", begin, 900, cat="kernel", thread=(1, 8), stream=8)

    device = steps.read().device

    assert (device.name, device.count) == ("NVIDIA A100", 1)


def test_kernels_belong_to_the_one_listed_device_whatever_number_they_carry(trace):
    trace.header = {"deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X VF"}]}
    trace.step(1, 0, 100).add("k", 0, 50, cat="kernel", thread=(9, 3), stream=3)

    assert trace.read().device.name == "AMD Instinct MI300X VF"


def test_a_kernel_of_an_unknown_device_has_the_stated_occupancy(trace):
    text = {"grid": [64, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 37}
    trace.step(1, 0, 100).add("k", 0, 50, cat="kernel", thread=(0, 7), stream=7, **text)

    (kernel,) = trace.read().kernels

    assert kernel.occupancy == 0.37


@pytest.fixture
def two_devices(trace):
    """Return one step of two devices, each half computing and half in a collective."""
    trace.header = {"deviceProperties": [{"id": n, "name": "NVIDIA H100"} for n in (0, 1)]}
    for device, (compute, collective) in enumerate(((0, 500), (500, 0))):
        where = {"thread": (device, 7), "cat": "kernel", "stream": 7}
        trace.add("volta_sgemm_128x64_nt", compute, 500, **where)
        trace.add("ncclDevKernel_AllReduce", collective, 500, **where)
        trace.add("Memcpy HtoD (Pinned -> Device)", 0, 900, **{**where, "cat": "gpu_memcpy"})
    return trace.step(1, 0, 1000)


def test_devices_are_never_stacked(two_devices):
    profile = two_devices.read()

    assert profile.bucket_seconds()[Bucket.COMPUTE] == pytest.approx(500e-6)
    assert profile.bucket_seconds()[Bucket.COMMUNICATION] == pytest.approx(500e-6)
    assert profile.reading("comm_overlap") == 0.0
    assert profile.reading("comm_time") == pytest.approx(500e-6)
    assert profile.reading("h2d_time") == pytest.approx(900e-6)
    assert profile.device.count == 2
    assert [(d.name, d.model, d.overlap) for d in profile.devices] == [
        ("device 0", "NVIDIA H100", 0.0),
        ("device 1", "NVIDIA H100", 0.0),
    ]
    assert sum(kernel.seconds for kernel in profile.kernels) == pytest.approx(1900e-6)
    assert [stream.stream for stream in profile.streams] == ["0:7", "1:7"]


def test_the_profile_is_that_of_the_device_which_all_alone_would_have_had(two_devices):
    chosen = two_devices.read(choice=DeviceChoice(device=1))

    assert chosen.devices == ()
    assert chosen.bucket_seconds()[Bucket.COMPUTE] == pytest.approx(500e-6)
    assert {stream.stream for stream in chosen.streams} == {"1:7"}


def test_a_device_that_did_nothing_is_no_choice(two_devices):
    with pytest.raises(ProfileError, match="no work of device 5 was recorded: choose from device"):
        two_devices.read(choice=DeviceChoice(device=5))


def test_a_device_with_hardly_any_work_is_left_out_and_noted(trace):
    trace.step(1, 0, 1000).add("k", 0, 900, cat="kernel", thread=(0, 7), stream=7)
    trace.add("Memset (Device)", 0, 8, cat="gpu_memset", thread=(1, 7), stream=7)

    profile = trace.read()

    assert profile.bucket_seconds()[Bucket.COMPUTE] == pytest.approx(900e-6)
    assert profile.devices == ()
    assert LITTLE_WORK.format("device 1", "1 %") in profile.notes


def test_overlapping_copies_of_one_direction_never_exceed_the_step(trace):
    trace.step(1, 0, 1000)
    for stream in (7, 8):
        where = {"cat": "gpu_memcpy", "thread": (0, stream), "stream": stream}
        trace.add("Memcpy HtoD (Pinned -> Device)", 100, 800, **where, bytes=4_000_000)

    profile = trace.read()

    assert profile.reading("h2d_time") == pytest.approx(800e-6)
    assert profile.reading("h2d_bw") == pytest.approx(8e6 / 800e-6)


def test_a_trace_without_markers_says_that_it_has_no_steps(trace):
    assert trace.add("aten::mm", 0, 60).read().has_steps is False


def test_memory_keeps_its_peaks_and_is_short(trace):
    trace.step(1, 100, 10_000)
    for number in range(3 * MAX_POINTS):
        text = {"Device Type": 1, "Device Id": 0, "Total Allocated": number % 97}
        text |= {"Total Reserved": 1000 if number else 0}
        trace.events.append({"ph": "i", "name": "[memory]", "ts": 100 + number, "args": text})

    points = trace.read().memory

    assert len(points) == MAX_POINTS
    assert max(point.allocated_bytes for point in points) == 96
    assert {point.device for point in points} == {"cuda:0"}
    assert points[-1].reserved_bytes == 1000
    assert [p.seconds for p in points] == sorted(p.seconds for p in points)


def test_memory_outside_the_kept_steps_is_left_out_but_what_they_begin_with(trace):
    for number, begin in enumerate((0, 100, 200)):
        trace.step(number, begin, 100)
    for time in (50, 150, 250, 350):
        text = {"Device Type": 0, "Device Id": -1, "Total Allocated": time}
        trace.events.append({"ph": "i", "name": "[memory]", "ts": time, "args": text})

    points = trace.read().memory

    assert [(p.seconds, p.allocated_bytes, p.reserved_bytes) for p in points] == [
        (0.0, 50.0, None),  # in use when they begin
        (pytest.approx(50e-6), 150.0, None),
        (pytest.approx(150e-6), 250.0, None),
    ]


def test_memory_that_was_not_recorded_is_no_point(trace):
    trace.step(1, 0, 100)
    for time, more in ((10, {}), (20, {"Total Allocated": 5})):
        text = {"Device Type": 1, "Device Id": 0, "Bytes": 512, **more}
        trace.events.append({"ph": "i", "name": "[memory]", "ts": time, "args": text})

    assert [point.allocated_bytes for point in trace.read().memory] == [5.0]


def test_of_more_devices_than_points_those_that_use_most_are_kept(trace):
    trace.step(1, 0, 10_000)
    for number in range(MAX_POINTS + 10):
        text = {"Device Type": 1, "Device Id": number, "Total Allocated": number}
        trace.events.append({"ph": "i", "name": "[memory]", "ts": number, "args": text})

    points = trace.read().memory

    assert len(points) == MAX_POINTS
    assert min(point.allocated_bytes for point in points) == 10


@pytest.mark.slow(ci_only=True)
def test_each_of_very_many_devices_counts_and_long_names_of_them_cost_nothing(trace):
    trace.step(1, 0, 1000)
    for number in range(300):
        process = f"{number}" + "x" * 100_000
        trace.add("k", number, 10, cat="kernel", thread=(process, 7), stream=7)

    assert trace.read().reading("gpu_busy") == pytest.approx(0.01)
