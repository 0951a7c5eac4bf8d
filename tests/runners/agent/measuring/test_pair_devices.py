import pytest

from perfledger.device_telemetry import DeviceTelemetry
from perfledger.records import Device, FailureReason, Run, Side
from perfledger_runners.measuring.pair_devices import other_device_failures


def run_on(side, *places, device=Device.CUDA, telemetry=()):
    return Run(
        workload="m:f",
        side=side,
        pair=3,
        position=0,
        process=0,
        started_at="2026-11-20T12:00:00+00:00",
        samples={"step_time_p50": (0.1,)},
        device=device,
        devices=max(1, len(places)),
        device_places=places,
        telemetry=telemetry,
    )


@pytest.mark.parametrize(
    ("base", "head"),
    [((0,), (0,)), ((0, 1), (1, 0)), ((), (1,)), ((0,), ())],  # unknown: nothing is said
)
def test_the_same_devices_in_any_order_are_compared(base, head):
    assert other_device_failures([(run_on(Side.BASE, *base), run_on(Side.HEAD, *head))]) == ()


@pytest.mark.parametrize(("base", "head"), [((0,), (1,)), ((0, 1), (0, 2)), ((0,), (0, 1))])
def test_other_devices_are_not(base, head):
    (failure,) = other_device_failures([(run_on(Side.BASE, *base), run_on(Side.HEAD, *head))])

    assert (failure.side, failure.why, failure.pair) == (Side.HEAD, FailureReason.OTHER_DEVICE, 3)


def test_both_devices_are_named():
    pair = (
        run_on(Side.BASE, 0, telemetry=(DeviceTelemetry(place=0, name="GPU-a"),)),
        run_on(Side.HEAD, 1, telemetry=(DeviceTelemetry(place=1, name="GPU-b"),)),
    )

    (failure,) = other_device_failures([pair])

    assert failure.detail == (
        "base ran on cuda:0 (GPU-a) and head on cuda:1 (GPU-b): their difference may be the "
        "devices'"
    )
