from dataclasses import replace

import pytest

from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.hardware.device_state import POWER_CAP, DeviceState
from perfledger_service.rendering.trace.caveats import caveats

FAST = DeviceState(clock_hertz=1.98e9)


@pytest.fixture
def explanation():
    return StepTimeExplanation(
        workload="w",
        base_step_seconds=1.0,
        head_step_seconds=1.5,
        causes=(),
        rest_seconds=0.5,
        is_attributable=True,
    )


def text(explanation):
    return caveats(explanation).replace("\u00a0", " ")


def test_nothing_is_said_of_what_is_not_known(explanation):
    assert text(explanation) == ""
    assert text(replace(explanation, head_device=FAST)) == ""


def test_what_only_the_timing_shows_is_said(explanation):
    assert text(replace(explanation, residual_seconds=0.25)) == (
        "Without a profiler the step changed by +750 ms; the profiles differ by +500 ms, "
        "so +250 ms of the change is not explained."
    )


def test_the_error_of_the_difference_is_said(explanation):
    assert text(replace(explanation, noise_seconds=0.002)) == (
        "The difference of the profiled steps is accurate to ±2.00 ms (95 %)."
    )


def test_a_slower_device_is_said_with_what_held_it_down(explanation):
    slow = DeviceState(clock_hertz=1.76e9, slowed_by=("heat", "the power supply's brake"))

    assert text(replace(explanation, base_device=FAST, head_device=slow)) == (
        "The device ran at 1.98 GHz on base and at 1.76 GHz, slowed by heat and the power "
        "supply's brake, on head (-11.1 %): that is the device, not the code."
    )


def test_a_power_cap_may_be_the_codes_own_doing(explanation):
    slow = DeviceState(clock_hertz=1.76e9, slowed_by=(POWER_CAP,))

    assert text(replace(explanation, base_device=slow, head_device=FAST)).endswith(
        "(+12.5 %): code that uses more power reaches the cap sooner."
    )


def test_clocks_within_two_percent_are_one_clock(explanation):
    alike = DeviceState(clock_hertz=1.95e9)

    assert text(replace(explanation, base_device=FAST, head_device=alike)) == ""
