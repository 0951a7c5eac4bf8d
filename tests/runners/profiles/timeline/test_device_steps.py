import pytest

from perfledger.profile import Bucket, DeviceStep, ProfileReading
from perfledger_profiles.timeline.device_steps import (
    device_step,
    mean_readings,
    note_on_devices,
)


def reading(name, value, **more):
    return ProfileReading(name=name, value=value, **more)


def step(name, **spent):
    buckets = tuple(spent.get(bucket.value, 0.0) for bucket in Bucket)
    return DeviceStep(name=name, steps=1, step_seconds=sum(buckets), buckets=buckets)


def test_a_devices_step_is_that_of_its_profile(make):
    profile = make.profile(
        make.operation("gemm", 2.0), make.operation("nccl", 1.0, bucket=Bucket.COMMUNICATION)
    )

    found_device_step = device_step(profile, name="device 1", model="NVIDIA H100", rank=1)

    assert (found_device_step.step_seconds, found_device_step.seconds(Bucket.COMPUTE)) == (3.0, 2.0)
    assert found_device_step.seconds(Bucket.COMPUTE, Bucket.COMMUNICATION) == 3.0
    assert (found_device_step.communication_seconds, found_device_step.overlap) == (None, None)


def test_a_ratio_is_weighted_by_the_time_that_it_is_about():
    profile_readings = mean_readings(
        [
            (reading("comm_time", 3.0, unit="s"), reading("comm_overlap", 0.5)),
            (reading("comm_time", 1.0, unit="s"), reading("comm_overlap", 0.1)),
        ]
    )

    assert [one.value for one in profile_readings] == [2.0, pytest.approx(0.4)]


def test_a_device_without_collectives_spent_no_time_on_them():
    profile_readings = mean_readings([(reading("comm_time", 3.0),), (reading("gpu_busy", 0.5),)])

    assert {one.name: one.value for one in profile_readings} == {"comm_time": 1.5, "gpu_busy": 0.5}


def test_the_largest_queue_is_the_largest_of_any_device():
    (profile_reading,) = mean_readings(
        [(reading("queue_len_max", 3.0),), (reading("queue_len_max", 9.0),)]
    )

    assert profile_reading.value == 9.0


def test_one_devices_readings_are_as_they_are():
    one = (reading("gpu_busy", 0.5, source="union of device events / step"),)

    assert mean_readings([one]) == one


def test_devices_that_differ_by_over_ten_points_are_noted():
    devices = [
        step("device 0", compute=0.9, other=0.1),
        step("device 1", compute=0.4, other=0.2, communication=0.4),
    ]

    (note,) = note_on_devices(devices)

    assert note == (
        "the devices differ: compute is 90 % of the step of device 0 and 40 % of that of device 1"
    )


def test_devices_that_differ_by_ten_points_or_one_device_are_not():
    devices = [step("0", compute=0.9, other=0.1), step("1", compute=0.8, other=0.2)]

    assert note_on_devices(devices) == ()
    assert note_on_devices(devices[:1]) == ()
