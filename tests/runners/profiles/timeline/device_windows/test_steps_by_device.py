"""Devices of one recording whose steps are lent, unknown, or not the same ones."""

import pytest

from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.timeline.device_windows import AHEAD, UNKNOWN_DEVICES, UNKNOWN_STEPS
from perfledger_profiles.timeline.step_windows import LENT_STEPS

OTHER_PROCESS = (2, 1)


def add_work(trace, device, number, *, linked=True, thread=(1, 1)):
    """Launch a kernel in a marker of 10 us that keeps the device busy for 40 us."""
    link = 100 * device + number + 1
    where = {"cat": "cuda_runtime", "thread": thread, "correlation": link}
    trace.add("cudaLaunchKernel", 10 * number + 1 + 3 * device, 2, **where)
    where = {"cat": "kernel", "thread": (device, "stream 7"), "stream": 7, "device": device}
    args = {"correlation": link if linked else 0}
    trace.add(f"k{device}", 3 + 3 * device + 40 * number, 40, **where, **args)


def test_a_device_with_lent_steps_has_the_lenders_markers(trace):
    for number in range(4):
        trace.step(number, 10 * number, 10)
        add_work(trace, 0, number)
        add_work(trace, 1, number, thread=OTHER_PROCESS)

    profile = trace.read(choice=DeviceChoice(device=1))

    assert LENT_STEPS in profile.notes
    assert profile.step_seconds == pytest.approx(40e-6)
    assert profile.reading("marked_step_p50") == pytest.approx(10e-6)


def test_the_hosts_calls_of_an_unknown_step_all_count(trace):
    for number in range(4):
        trace.step(number, 10 * number, 10)
        add_work(trace, 0, number, linked=False)

    profile = trace.read()

    launches = next(one for one in profile.operations if one.name == "cudaLaunchKernel")
    assert profile.notes == (UNKNOWN_STEPS,)
    assert launches.count == 3  # the first is before the device's first work


def test_a_device_of_unknown_steps_is_left_out_of_the_mean(trace):
    for number in range(4):
        trace.step(number, 10 * number, 10)
        add_work(trace, 0, number)
        add_work(trace, 1, number, linked=False)

    profile = trace.read()

    assert (profile.has_steps, profile.steps) == (True, 3)
    assert profile.step_seconds == pytest.approx(40e-6)
    assert {kernel.name: kernel.count for kernel in profile.kernels} == {"k0": 1}
    assert profile.notes == (AHEAD.format(2, "s"), UNKNOWN_DEVICES.format(1, 2))


def test_devices_that_are_all_of_unknown_steps_are_one_step_each(trace):
    for number in range(4):
        trace.step(number, 10 * number, 10)
        for device in range(2):
            add_work(trace, device, number, linked=False)

    profile = trace.read()

    assert (profile.has_steps, profile.steps, len(profile.devices)) == (False, 1, 2)
    assert profile.step_seconds == pytest.approx(160e-6)
    assert profile.notes == (UNKNOWN_STEPS,)
