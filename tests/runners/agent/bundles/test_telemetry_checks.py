from dataclasses import replace

import pytest

from perfledger.device_telemetry import DeviceTelemetry
from perfledger.records import Device, Run, Side
from perfledger_runners.bundles.telemetry_checks import check_telemetry
from perfledger_runners.bundles.value_checks import BundleError

FIRST = DeviceTelemetry(place=0, name="GPU-1", readings=5, throttled=2, slowed={"heat": 0.4})
SECOND = replace(FIRST, place=1)


def run_with(*telemetry, **values):
    return Run(
        workload="m:f",
        side=Side.BASE,
        pair=0,
        position=0,
        process=0,
        started_at="2026-11-20T12:00:00+00:00",
        samples={"step_time_p50": (0.1,)},
        device=Device.CUDA,
        telemetry=telemetry,
        **values,
    )


@pytest.mark.parametrize(
    "run",
    [
        run_with(),
        run_with(FIRST),
        run_with(FIRST, SECOND, devices=2),
        run_with(SECOND, device_places=(1,)),
        run_with(replace(FIRST, clock_mhz=1410.0, nvlink_bytes_per_s=0.0)),
    ],
)
def test_what_devices_say_is_kept(run):
    check_telemetry(run)


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (run_with(FIRST, SECOND), "more devices than it used"),
        (run_with(FIRST, FIRST, devices=2), "more than one of a device"),
        (run_with(replace(FIRST, place=-1)), "more than one"),
        (run_with(FIRST, device_places=(1,)), "did not use"),
        (run_with(replace(FIRST, throttled=6)), "impossible"),
        (run_with(replace(FIRST, throttled=-1)), "impossible"),
        (run_with(replace(FIRST, slowed={"heat": 1.5})), "impossible"),
        (run_with(replace(FIRST, power_w=-1.0)), "impossible"),
        (run_with(replace(FIRST, energy_per_step=-1.0)), "impossible"),
    ],
)
def test_what_no_device_can_say_is_refused(run, problem):
    with pytest.raises(BundleError, match=problem):
        check_telemetry(run)
