import pytest

from perfledger.device_telemetry import DeviceTelemetry
from perfledger.records import Device, Run, Side
from perfledger_service.usecases.check.slowest_device import slowest_device_words


def device(place, clock_mhz, *, throttled=0, **slowed):
    return DeviceTelemetry(
        place=place,
        name=f"GPU-{place}",
        readings=10,
        throttled=throttled,
        slowed=slowed,
        clock_mhz=clock_mhz,
    )


def run_of(*telemetry):
    return Run(
        workload="m:f",
        side=Side.HEAD,
        pair=0,
        position=0,
        process=0,
        started_at="2026-11-20T12:00:00+00:00",
        samples={"step_time_p50": (0.1,)},
        device=Device.CUDA,
        devices=max(1, len(telemetry)),
        telemetry=telemetry,
    )


def test_without_readings_nothing_is_said():
    assert slowest_device_words([run_of()]) == ()
    assert slowest_device_words([run_of(device(0, None))]) == ()


def test_the_device_with_the_lowest_clock_over_all_runs_is_named():
    runs = [
        run_of(device(0, 1755.0), device(1, 1200.0)),
        run_of(device(0, 1100.0), device(1, 1210.0)),
        run_of(device(0, 1755.0), device(1, 1190.0)),
    ]

    assert slowest_device_words(runs) == (
        "device 1 (GPU-1) is the slowest: 1,200 MHz beside 1,755 MHz",
    )


@pytest.mark.parametrize("clock_mhz", [1755.0, 1740.0])
def test_equal_clocks_name_no_device(clock_mhz):
    (words,) = slowest_device_words([run_of(device(0, clock_mhz), device(1, 1755.0))])

    assert words == f"no device has a lower clock than the others: {clock_mhz:,.0f} MHz"


def test_one_device_with_a_clock_is_slower_than_none():
    assert slowest_device_words([run_of(device(0, 1200.0), device(1, None))]) == ()


def test_a_throttled_device_comes_before_one_with_a_lower_clock():
    runs = [
        run_of(device(0, 1755.0), device(1, 1700.0, throttled=1, heat=0.1), device(2, 1600.0)),
        run_of(device(0, 1755.0), device(1, 1700.0, throttled=3, heat=0.3), device(2, 1600.0)),
    ]

    (words,) = slowest_device_words(runs)

    assert words == (
        "device 1 (GPU-1) is throttled most: 1,700 MHz beside 1,678 MHz, "
        "held down by heat (20 %) of the readings"
    )


def test_a_throttled_device_with_the_lowest_clock_is_the_slowest():
    (words,) = slowest_device_words(
        [run_of(device(0, 1755.0), device(1, 1500.0, throttled=5, heat=0.5))]
    )

    assert words == (
        "device 1 (GPU-1) is the slowest: 1,500 MHz beside 1,755 MHz, "
        "held down by heat (50 %) of the readings"
    )
