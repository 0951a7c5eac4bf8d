from dataclasses import replace

import pytest

from perfledger.records import Device, Run, Side
from perfledger_runners.machine.nvml import Gpu, GpuActivity, GpuState
from perfledger_runners.machine.telemetry import (
    GpuTelemetry,
    TelemetrySample,
    throttling_failure,
    with_telemetry,
)

LONG_SPANS = ((0.0, 2.5),)
LONG_RUN = Run(
    workload="w",
    side=Side.HEAD,
    pair=2,
    position=1,
    process=5,
    started_at="2026-11-20T12:00:00+00:00",
    samples={"step_time_p50": (0.5, 0.25, 0.75, 0.5, 0.5)},
    device=Device.CUDA,
)
TWO = replace(LONG_RUN, devices=2)


def two_devices(*, joules=((0.0, 0.0), (690.0, 230.0)), reasons=(0, 0), places=(0, 1)):
    """Return readings of two devices, 2.3 s apart."""
    return [
        TelemetrySample(
            since_s=at_s - 0.05,
            at_s=at_s,
            state=GpuState(
                reasons=reasons[index],
                clock_mhz=(1755.0, 1200.0)[index],
                power_w=300.0,
                temperature_c=88.0,
            ),
            activity=GpuActivity(sm_active=(0.5, 0.25)[index], pcie_bytes_per_s=1e9),
            energy_joules=energies[index],
            place=place,
            name=f"GPU-{place}",
        )
        for at_s, energies in zip((0.1, 2.4), joules, strict=True)
        for index, place in enumerate(places)
    ]


def test_of_several_devices_energy_is_the_sum_activity_the_mean_and_the_clock_the_slowest():
    run = with_telemetry(TWO, two_devices(), spans_s=LONG_SPANS)

    assert list(run.samples["energy_per_step"]) == pytest.approx([(300 + 100) * 0.5])
    assert run.samples["sm_active"] == (0.375, 0.375)
    assert run.clock_mhz == 1200.0
    assert [(each.place, each.name, each.clock_mhz) for each in run.telemetry] == [
        (0, "GPU-0", 1755.0),
        (1, "GPU-1", 1200.0),
    ]
    assert [each.energy_per_step for each in run.telemetry] == [
        pytest.approx(150),
        pytest.approx(50),
    ]
    assert run.telemetry[0].power_w == 300.0
    assert run.telemetry[0].pcie_bytes_per_s == 1e9
    assert run.telemetry[0].nvlink_bytes_per_s is None


def test_where_one_device_tells_no_energy_the_sum_is_unknown():
    readings = two_devices(joules=((0.0, None), (690.0, None)))

    run = with_telemetry(TWO, readings, spans_s=LONG_SPANS)

    assert "energy_per_step" not in run.samples
    assert run.telemetry[0].energy_per_step == pytest.approx(150)


def test_a_device_that_was_not_read_leaves_energy_and_activity_unknown():
    readings = [each for each in two_devices() if each.place == 0]

    assert with_telemetry(TWO, readings, spans_s=LONG_SPANS).samples == TWO.samples


def test_the_device_that_was_throttled_is_named_though_it_is_not_the_first():
    readings = two_devices(reasons=(0, 0x40))

    failure = throttling_failure(TWO, readings, spans_s=LONG_SPANS)

    assert "GPU 1 (GPU-1) was throttled in 2 of 2 readings" in failure.detail
    run = with_telemetry(TWO, readings, spans_s=LONG_SPANS)
    assert (run.slowed, run.left_out) == ({"heat": 1.0}, {"throttled": 2})
    assert [each.throttled_share for each in run.telemetry] == [0.0, 1.0]


def test_a_run_on_another_device_than_the_first_has_that_ones_readings():
    on_second = replace(LONG_RUN, device_places=(1,))
    readings = two_devices(reasons=(0x40, 0))

    run = with_telemetry(on_second, readings, spans_s=LONG_SPANS)

    assert throttling_failure(on_second, readings, spans_s=LONG_SPANS) is None
    assert (run.clock_mhz, run.left_out) == (1200.0, {})
    assert [each.name for each in run.telemetry] == ["GPU-1"]


def test_all_gpus_that_a_workload_may_use_are_read(fake_nvml):
    library = fake_nvml(shares=[40.0] * 1_000_000)
    gpu = Gpu(library, "by index 0", more=(Gpu(library, "by index 1"),))
    telemetry = GpuTelemetry(gpu, every_s=0.0)

    telemetry.start()
    while not telemetry.readings:
        pass
    first, second = telemetry.stop()[:2]

    assert (first.place, second.place) == (0, 1)
    assert first.at_s == second.at_s
    assert first.state.memory_bytes == 3 * 2**30
    assert first.activity == GpuActivity(
        sm_active=0.4, pcie_bytes_per_s=400 * 2**20, nvlink_bytes_per_s=3000 * 2**20
    )
    assert library.allocations == 0
