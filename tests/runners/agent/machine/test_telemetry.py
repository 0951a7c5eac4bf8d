import threading
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.measuring.core_use import PREPARED_ON_DEVICE
from perfledger.records import Device, FailureReason, Run, Side
from perfledger.step_evidence import StepEvidence
from perfledger_runners.machine.nvml import Gpu, GpuActivity, GpuState
from perfledger_runners.machine.telemetry import (
    MAX_THROTTLED_SHARE,
    GpuTelemetry,
    NoTelemetry,
    TelemetrySample,
    throttling_failure,
    with_telemetry,
)

RUN = Run(
    workload="w",
    side=Side.HEAD,
    pair=2,
    position=1,
    process=5,
    started_at="2026-11-20T12:00:00+00:00",
    samples={"step_time_p50": (0.25, 0.25, 0.5)},
    device=Device.CUDA,
)


SPANS = ((0.0, 1.0),)  # of its three steps


def reading(
    at_s, *, since_s=None, reasons=0, sm_active=None, clock_mhz=1410.0, joules=None, place=0
):
    state = GpuState(reasons=reasons, clock_mhz=clock_mhz, power_w=300.0, temperature_c=88.0)
    return TelemetrySample(
        since_s=max(0.0, at_s - 0.1) if since_s is None else since_s,
        at_s=at_s,
        state=state,
        activity=GpuActivity(sm_active=sm_active, pcie_bytes_per_s=1e9),
        energy_joules=joules,
        place=place,
        name=f"GPU-{place}",
    )


def test_a_run_without_readings_is_as_it_was():
    assert with_telemetry(RUN, (), spans_s=SPANS) == RUN
    assert throttling_failure(RUN, (), spans_s=SPANS) is None


def test_sm_activity_counts_while_steps_were_measured_and_not_after():
    readings = [
        reading(0.12, sm_active=0.5),
        reading(1.0, sm_active=0.75),
        reading(1.01, sm_active=0.1),
    ]

    assert with_telemetry(RUN, readings, spans_s=SPANS).samples["sm_active"] == (0.5, 0.75)


def test_readings_before_between_and_after_the_steps_of_the_set_ups_do_not_count():
    set_ups = ((0.5, 1.0), (2.0, 2.5))
    readings = [
        reading(0.4, reasons=0x40, sm_active=0.1, clock_mhz=900.0),  # while it settled
        reading(0.6, sm_active=0.5, clock_mhz=1400.0),
        reading(1.5, reasons=0x40, sm_active=0.0, clock_mhz=900.0),  # while it was set up again
        reading(2.5, sm_active=0.75, clock_mhz=1500.0),
        reading(2.6, reasons=0x40, sm_active=0.1, clock_mhz=900.0),  # after the last step
    ]

    run = with_telemetry(RUN, readings, spans_s=set_ups)

    assert run.samples["sm_active"] == (0.5, 0.75)
    assert (run.clock_mhz, run.left_out) == (1450.0, {})
    assert throttling_failure(RUN, readings, spans_s=set_ups) is None
    assert throttling_failure(RUN, readings, spans_s=((0.0, 3.0),)) is not None


def test_an_activity_that_began_before_the_steps_is_not_theirs_while_a_clock_is():
    set_ups = ((0.5, 1.0), (1.1, 1.5))
    readings = [
        reading(0.6, since_s=0.48, sm_active=0.1, clock_mhz=1400.0),
        reading(0.9, since_s=0.5, sm_active=0.75, clock_mhz=1400.0),
        reading(1.2, since_s=0.9, sm_active=0.1, clock_mhz=1500.0),  # of two set-ups
    ]

    run = with_telemetry(RUN, readings, spans_s=set_ups)

    assert run.samples["sm_active"] == (0.75,)
    assert run.clock_mhz == 1400.0


def test_without_measured_steps_nothing_was_read_during_them():
    readings = [reading(0.5, reasons=0x40, sm_active=0.5)]

    assert with_telemetry(RUN, readings, spans_s=()) == RUN
    assert throttling_failure(RUN, readings, spans_s=()) is None


def test_what_the_gpu_did_beside_a_run_on_the_cpu_is_nobodys_business():
    on_cpu = replace(RUN, device=Device.CPU)
    readings = [reading(0.1, reasons=0x40, sm_active=0.5)]

    assert with_telemetry(on_cpu, readings, spans_s=SPANS) == on_cpu
    assert throttling_failure(on_cpu, readings, spans_s=SPANS) is None


def test_readings_during_steps_that_are_read_several_at_a_time_count():
    short = replace(
        RUN,
        samples={"step_time_p50": (1e-4, 1e-4)},
        evidence=StepEvidence(steps_per_reading=5000),
    )
    readings = [reading(0.9, reasons=0x40, sm_active=0.5), reading(1.1, sm_active=0.1)]

    assert with_telemetry(short, readings, spans_s=SPANS).samples["sm_active"] == (0.5,)
    assert throttling_failure(short, readings, spans_s=SPANS) is not None


def test_steps_that_are_prepared_have_no_activity_and_no_energy_but_may_be_throttled():
    spans_s = ((0.0, 6.0),)  # with the preparations
    prepared = replace(LONG_RUN, left_out={PREPARED_ON_DEVICE: 1})
    readings = [
        reading(0.1, sm_active=0.5, joules=1000.0),
        reading(5.0, reasons=0x40, sm_active=0.5, joules=1690.0),
    ]

    run = with_telemetry(prepared, readings, spans_s=spans_s)

    assert run.samples == prepared.samples
    assert run.left_out == {PREPARED_ON_DEVICE: 1, "throttled": 1}
    assert throttling_failure(prepared, readings, spans_s=spans_s) is not None


LONG_SPANS = ((0.0, 2.5),)
LONG_RUN = replace(RUN, samples={"step_time_p50": (0.5, 0.25, 0.75, 0.5, 0.5)})


def test_the_energy_of_a_step_is_what_the_counter_rose_by_in_its_time():
    readings = [
        reading(0.1, joules=1000.0),
        reading(1.1, joules=None),
        reading(2.4, joules=1690.0),
        reading(2.6, joules=9999.0),  # after the last step
    ]

    (joules,) = with_telemetry(LONG_RUN, readings, spans_s=LONG_SPANS).samples["energy_per_step"]

    assert joules == pytest.approx(300 * 0.5)  # 690 J in 2.3 s are 300 W; a step takes 0.5 s


def test_the_energy_of_set_ups_is_no_steps():
    set_ups = ((1.0, 2.5), (5.0, 6.5))
    readings = [
        reading(0.1, joules=0.0),  # 900 W
        reading(1.1, joules=900.0),
        reading(2.4, joules=1290.0),  # 300 W
        reading(4.0, joules=1400.0),
        reading(5.1, joules=1500.0),
        reading(6.4, joules=1890.0),  # 300 W
        reading(6.6, joules=9999.0),
    ]

    (joules,) = with_telemetry(LONG_RUN, readings, spans_s=set_ups).samples["energy_per_step"]

    assert joules == pytest.approx(300 * 0.5)


@pytest.mark.parametrize(
    ("run", "energies"),
    [
        pytest.param(LONG_RUN, [1.0], id="one reading"),
        pytest.param(LONG_RUN, [None, None, None], id="a device that does not tell"),
        pytest.param(LONG_RUN, [5.0, 6.0, 1.0], id="a driver that was loaded again"),
        pytest.param(LONG_RUN, [5.0, 5.0, 5.0], id="a counter that stands still"),
        pytest.param(RUN, [1.0, 2.0], id="too short a run"),
        pytest.param(replace(LONG_RUN, devices=2), [1.0, 2.0, 3.0], id="one of two devices"),
    ],
)
def test_energy_that_cannot_be_told_is_not(run, energies):
    readings = [reading(0.1 + 1.1 * index, joules=joules) for index, joules in enumerate(energies)]

    spans_s = ((0.0, sum(run.samples["step_time_p50"])),)

    assert "energy_per_step" not in with_telemetry(run, readings, spans_s=spans_s).samples


def test_energy_is_read_only_where_it_was_asked_for(fake_nvml):
    messages = []
    for asks in (False, True):
        library = fake_nvml("nvmlGpmQueryDeviceSupport")
        telemetry = GpuTelemetry(Gpu(library, "handle"), every_s=0.0, reads_energy=asks)
        telemetry.start()
        while not telemetry.readings:
            pass
        messages.append(telemetry.stop()[0].energy_joules)

    assert messages == [None, 123.456]


def test_an_older_gpu_tells_no_sm_activity():
    assert with_telemetry(RUN, [reading(0.1)], spans_s=SPANS).samples == RUN.samples


def test_a_run_keeps_its_median_clock_and_what_held_it_down_how_often():
    readings = [
        reading(0.1, reasons=0x4, clock_mhz=1200.0),
        reading(0.2, reasons=0x64, clock_mhz=1100.0),
        reading(0.3, clock_mhz=1410.0),
        reading(0.4, clock_mhz=None),
    ]

    run = with_telemetry(RUN, readings, spans_s=SPANS)

    assert run.clock_mhz == 1200.0
    assert run.slowed == {"its power cap": 0.5, "heat": 0.25}


@pytest.mark.parametrize("reasons", [0x8, 0x20, 0x40, 0x80, 0x48 | 0x4])
def test_a_clock_held_down_from_outside_is_a_failure(reasons):
    readings = [reading(0.1), reading(0.2, reasons=reasons)]

    failure = throttling_failure(RUN, readings, spans_s=SPANS)

    assert failure is not None
    assert (failure.workload, failure.side, failure.why) == (
        "w",
        Side.HEAD,
        FailureReason.THROTTLED,
    )
    assert failure.pair == 2
    assert "in 1 of 2 readings" in failure.detail
    assert "88.0 °C" in failure.detail
    assert with_telemetry(RUN, readings, spans_s=SPANS).left_out == {"throttled": 1}


@pytest.mark.parametrize("reasons", [0x0, 0x1, 0x2, 0x4, 0x10, 0x100])
def test_an_idle_a_locked_or_a_power_capped_clock_is_not(reasons):
    readings = [reading(0.1, reasons=reasons)]

    assert throttling_failure(RUN, readings, spans_s=SPANS) is None
    assert with_telemetry(RUN, readings, spans_s=SPANS).left_out == {}


@pytest.mark.parametrize(("slowed", "is_failure"), [(1, False), (2, False), (3, True)])
def test_a_few_slowed_readings_are_counted_and_more_than_a_fifth_are_a_failure(slowed, is_failure):
    readings = [reading(at / 10, reasons=0x40 if at < slowed else 0) for at in range(10)]

    failure = throttling_failure(RUN, [*readings, reading(1.5)], spans_s=SPANS)

    assert with_telemetry(RUN, readings, spans_s=SPANS).left_out == {"throttled": slowed}
    assert (failure is not None) is is_failure
    if failure is not None:
        assert "in 3 of 10 readings" in failure.detail


def test_a_slowdown_after_the_last_step_is_nobodys_fault():
    assert throttling_failure(RUN, [reading(1.5, reasons=0x40)], spans_s=SPANS) is None


@given(
    st.lists(
        st.tuples(st.floats(0, 2), st.integers(0, 511), st.none() | st.floats(0, 1)), max_size=5
    )
)
def test_readings_never_touch_the_steps(given_readings):
    readings = [
        reading(at_s, reasons=reasons, sm_active=share) for at_s, reasons, share in given_readings
    ]

    run = with_telemetry(RUN, readings, spans_s=SPANS)

    assert run.samples["step_time_p50"] == RUN.samples["step_time_p50"]
    during = sum(each.at_s <= 1 for each in readings)
    is_slow = run.left_out.get("throttled", 0) > MAX_THROTTLED_SHARE * during
    assert (throttling_failure(RUN, readings, spans_s=SPANS) is not None) is is_slow


def test_on_the_cpu_nothing_is_read():
    telemetry = NoTelemetry()

    telemetry.start()

    assert telemetry.stop() == ()


def test_a_thread_reads_until_it_is_stopped(fake_nvml):
    library = fake_nvml(reasons=0x4, shares=[40.0] * 1_000_000)
    telemetry = GpuTelemetry(Gpu(library, "handle"), every_s=0.0)

    telemetry.start()
    while not telemetry.readings:
        pass
    readings = telemetry.stop()

    assert readings[0].activity.sm_active == 0.4
    assert readings[0].state.reasons == 0x4
    assert library.allocations == 0
    assert telemetry.stop() == readings


def test_an_error_that_ends_the_readings_is_raised_once(fake_nvml, monkeypatch):
    gpu = Gpu(fake_nvml("nvmlGpmQueryDeviceSupport"), "handle")
    telemetry = GpuTelemetry(gpu, every_s=0.0)
    message, is_read = "used", threading.Event()

    def state(_):
        is_read.set()
        raise AttributeError(message)

    monkeypatch.setattr(Gpu, "state", state)
    telemetry.start()
    is_read.wait()

    with pytest.raises(AttributeError, match=message):
        telemetry.stop()
    assert telemetry.stop() == ()


def test_starting_again_forgets_what_was_read(fake_nvml):
    telemetry = GpuTelemetry(Gpu(fake_nvml("nvmlGpmQueryDeviceSupport"), "handle"), every_s=60.0)
    telemetry.readings.append(reading(0.1))

    telemetry.start()

    assert telemetry.stop() == ()


@pytest.mark.parametrize(
    ("bit", "cause", "is_failure"),
    [
        (0x04, "power cap", False),  # nvmlClocksEventReasonSwPowerCap
        (0x08, "a slowdown of the board", True),  # HwSlowdown
        (0x20, "heat", True),  # SwThermalSlowdown
        (0x40, "heat", True),  # HwThermalSlowdown
        (0x80, "the power supply's brake", True),  # HwPowerBrakeSlowdown
        (0x01, None, False),  # GpuIdle
        (0x02, None, False),  # ApplicationsClocksSetting
        (0x10, None, False),  # SyncBoost
    ],
)
def test_each_bit_of_nvml_is_called_by_its_cause(bit, cause, is_failure):
    readings = [reading(0.5, reasons=bit), reading(0.9, reasons=bit)]

    slowed = with_telemetry(RUN, readings, spans_s=SPANS).slowed

    assert [words for words in slowed if cause is None or cause in words] == list(slowed)
    assert len(slowed) == (cause is not None)
    assert (throttling_failure(RUN, readings, spans_s=SPANS) is not None) is is_failure
