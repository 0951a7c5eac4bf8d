"""What a device should reach in a canary: worked out by hand from its row of the table."""

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Run, Side, WorkloadSpec
from perfledger_profiles.hardware.device_peaks import known_hardware
from perfledger_service.usecases.bench.canary_rates import (
    expected_rate,
    state_of,
    units_on_each_link,
)
from perfledger_service.values.doctor_views import CanaryState, ExpectedRate

H100 = next(row for row in known_hardware() if row.key == "h100-sxm5-80gb")
RUN = Run(
    workload="a",
    side=Side.HEAD,
    pair=0,
    position=0,
    process=0,
    started_at="2026-11-24T00:00:00Z",
    samples={STEP_TIME.name: (1.0,)},
)


def spec(function, **more):
    return WorkloadSpec(id=f"m:{function}", module="m", function=function, **more)


def machine(model=H100.names[0], **more):
    return Machine(device=Device.CUDA, model=model, memory_bytes=H100.memory_bytes, **more)


@pytest.mark.parametrize(
    ("canary", "rate"),
    [
        (spec("matmul", params={"dtype": "float32"}), 0.87 * H100.peak_flops["float32"]),
        (spec("memory_copy"), 0.904 * H100.memory_bytes_per_second),
        (spec("all_reduce", devices=8), 0.78 * 450e9),
    ],
)
def test_a_device_should_reach_the_known_share_of_its_peak(canary, rate):
    expected = expected_rate(canary, machine(), RUN)

    assert expected.per_second == pytest.approx(rate)
    assert H100.key in expected.basis


@pytest.mark.parametrize(
    ("canary", "of", "reason"),
    [
        (
            spec("matmul", params={"dtype": "float32"}),
            machine("A GPU"),
            "not in the hardware table",
        ),
        (spec("layer_norm"), machine(), "no published figure"),
        (spec("matmul", params={"dtype": "int3"}), machine(), "no known peak of int3"),
        (
            spec("matmul", params={"dtype": "float32"}),
            machine(power_cap_w=300.0),
            "the clock it reached is unknown",
        ),
    ],
)
def test_what_is_not_known_is_neither_slow_nor_fine(canary, of, reason):
    expected = expected_rate(canary, of, RUN)

    assert reason in expected.basis
    assert state_of(1.0, 1.0, expected) is CanaryState.UNKNOWN


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (60.0, 74.9, CanaryState.SLOW),
        (75.0, 90.0, CanaryState.AS_EXPECTED),
        (74.9, 90.0, CanaryState.UNKNOWN),
    ],
)
def test_a_whole_interval_below_three_quarters_is_slow(low, high, state):
    assert state_of(low, high, ExpectedRate(per_second=100.0, basis="")) is state


@pytest.mark.parametrize(("devices", "units"), [(2, 10.0), (8, 17.5)])
def test_a_link_of_an_all_reduce_carries_the_message_as_often_as_nccl_tests_says(devices, units):
    canary = spec("all_reduce", units_per_step=10.0, devices=devices)

    assert units_on_each_link(canary) == units
