from dataclasses import replace

import pytest

from perfledger.profile import MemoryPoint, ProfiledDevice, ProfileReading
from perfledger_profiles.diff.cause import ChangeReason
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.hardware.device_lookup import match_hardware
from perfledger_profiles.hardware.device_state import (
    DeviceState,
    device_state,
    disturbances,
    memory_notes,
    used_memory_share,
)

T4 = match_hardware("Tesla T4").hardware
GPU = ProfiledDevice(name="a GPU", memory_bytes=1000)
FAST, SLOW = DeviceState(clock_hertz=1.8e9), DeviceState(clock_hertz=1.5e9)


@pytest.fixture
def scrape(make):
    """Return a function that makes a profile of readings of one device, by their names."""

    def scrape(subject="gpu 0", **values):
        readings = (ProfileReading(name=n, value=v, subject=subject) for n, v in values.items())
        return replace(make.profile(), readings=tuple(readings))

    return scrape


def test_a_power_capped_device_is_no_place_to_measure_on(scrape):
    # A T4 in production: 91 % "utilized", 660 of 1590 MHz at 68.2 of 70 W.
    profile = scrape(sm_clock=660e6, power=68.2, gpu_busy=0.91)

    (wrong,) = disturbances(profile, T4)

    assert wrong == (
        "gpu 0: it runs at 660 of 1,590 MHz and draws 68 of 70 W: its power limit slows it"
    )


def test_the_limit_that_was_set_goes_before_the_makers(scrape):
    profile = scrape(sm_clock=660e6, power=50.0, power_limit=50.0)

    (wrong,) = disturbances(profile, T4)

    assert "50 of 50 W" in wrong


def test_a_busy_device_at_a_low_clock_is_hot_or_locked(scrape):
    (wrong,) = disturbances(scrape(sm_clock=660e6, power=40.0, gr_engine_active=0.9), T4)

    assert wrong.endswith("while it is busy: it is too hot, or its clock is locked")


@pytest.mark.parametrize(
    "readings",
    [
        {"sm_clock": 300e6, "power": 9.0, "gpu_busy": 0.0},
        {"sm_clock": 1590e6, "power": 70.0, "gpu_busy": 1.0},
        {"power": 70.0, "gpu_busy": 1.0},
        {"sm_clock": 660e6},
    ],
)
def test_an_idle_or_a_fast_device_is_fit(scrape, readings):
    assert disturbances(scrape(**readings), T4) == ()


def test_of_an_unknown_device_no_clock_is_low(scrape):
    assert disturbances(scrape(sm_clock=660e6, power=68.2), None) == ()


def test_a_device_with_broken_memory_is_not_fit(scrape):
    (wrong,) = disturbances(scrape("", ecc_double_volatile=1.0, row_remap_failed=0.0), None)

    assert wrong == "the device: its memory had errors that could not be corrected"


@pytest.mark.parametrize(("reasons", "faults"), [(0.0, 0), (4.0, 0), (8.0, 1), (0x48 + 4.0, 2)])
def test_a_clock_that_heat_or_the_hardware_cuts_is_told_a_power_cap_is_not(scrape, reasons, faults):
    assert len(disturbances(scrape("gpu 0", clock_event_reasons=reasons), None)) == faults


def test_the_clock_is_the_median_of_what_is_read(make):
    readings = tuple(
        ProfileReading(name="sm_clock", value=v, subject=str(v)) for v in (1e9, 2e9, 9e9)
    )

    assert device_state(replace(make.profile(), readings=readings)) == DeviceState(clock_hertz=2e9)
    assert device_state(make.profile()) is None


def test_memory_that_is_nearly_full_is_noted(scrape):
    full = scrape("", memory_used_share=0.95, peak_mem_reserved=80e9, peak_mem_allocated=60e9)

    (note,) = memory_notes(full)

    assert note == (
        "95 % of the device's memory is in use at the peak; of what is reserved, 25 % is not "
        "allocated"
    )
    assert memory_notes(scrape(memory_used_share=0.901)) == (
        "90 % of the device's memory is in use at the peak",
    )
    assert memory_notes(scrape(memory_used_share=0.9)) == ()
    assert memory_notes(scrape()) == ()


def test_used_memory_is_the_most_that_any_source_saw(scrape, make):
    assert used_memory_share(scrape(memory_used=30.0, memory_free=10.0)) == pytest.approx(0.75)
    assert used_memory_share(scrape(memory_used_share=0.5)) == 0.5
    assert used_memory_share(make.profile()) is None
    assert used_memory_share(scrape(memory_used=0.0, memory_free=0.0)) is None
    assert used_memory_share(scrape(memory_used=0.5, memory_free=0.5)) == 0.5


def test_used_memory_of_a_timeline_is_the_devices_own(make):
    points = (
        MemoryPoint(seconds=0.0, allocated_bytes=900.0, device="cpu"),
        MemoryPoint(seconds=0.1, allocated_bytes=500.0, device="cuda:0"),
        MemoryPoint(seconds=0.2, allocated_bytes=500.0, reserved_bytes=600.0, device="cuda:0"),
    )

    assert used_memory_share(replace(make.profile(), device=GPU, memory=points)) == 0.6


def on_gpu(make, *operations):
    return replace(make.profile(*operations), device=GPU)


def test_a_slower_device_is_not_the_code(make):
    base = on_gpu(make, make.operation("gemm", 10e-3), make.operation("sort", 1e-3))
    head = on_gpu(make, make.operation("gemm", 12e-3), make.operation("sort", 1.1e-3))

    step_time_explanation = explain(base, head, devices=(FAST, SLOW))

    assert not step_time_explanation.is_attributable
    assert step_time_explanation.note == (
        "not attributable from this profile: the device was slower, not the code; its clock "
        "explains up to 100 % of the change: profile both sides again with locked clocks"
    )
    assert (step_time_explanation.base_device, step_time_explanation.head_device) == (FAST, SLOW)
    slower_code = on_gpu(make, make.operation("gemm", 12e-3), make.operation("sort", 1e-3))
    assert explain(base, slower_code, devices=(FAST, FAST)).is_attributable


def test_a_slower_device_does_not_explain_a_faster_step(make):
    base = on_gpu(make, make.operation("gemm", 12e-3))
    head = on_gpu(make, make.operation("gemm", 10e-3))

    assert explain(base, head, devices=(FAST, SLOW)).is_attributable


def test_a_clock_that_is_the_listed_cause_needs_no_note(make):
    names = [f"kernel_{number}" for number in range(10)]
    base = on_gpu(make, *(make.operation(name, 1e-3) for name in names))
    head = on_gpu(make, *(make.operation(name, 1.2e-3) for name in names))

    step_time_explanation = explain(base, head, devices=(FAST, SLOW))

    assert [cause.reason for cause in step_time_explanation.causes] == [ChangeReason.CLOCK]
    assert (step_time_explanation.is_attributable, step_time_explanation.note) == (True, "")


@pytest.mark.parametrize(
    ("bit", "cause"),
    [
        (0x08, "too hot, or too much power"),  # nvmlClocksEventReasonHwSlowdown
        (0x20, "its driver lowers its clock: too hot"),  # SwThermalSlowdown
        (0x40, "its hardware lowers its clock: too hot"),  # HwThermalSlowdown
        (0x80, "the power supply requests it"),  # HwPowerBrakeSlowdown
    ],
)
def test_each_bit_of_nvml_that_is_a_fault_has_its_cause(scrape, bit, cause):
    (fault,) = disturbances(scrape("gpu 0", clock_event_reasons=float(bit)), None)

    assert cause in fault


@pytest.mark.parametrize("bit", [0x01, 0x02, 0x04, 0x10, 0x100])
def test_an_idle_clock_a_chosen_one_a_power_cap_and_sync_boost_are_no_faults(scrape, bit):
    assert disturbances(scrape("gpu 0", clock_event_reasons=float(bit)), None) == ()
