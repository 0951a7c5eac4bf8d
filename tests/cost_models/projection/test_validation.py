from dataclasses import replace
from math import exp

import msgspec
import pytest

from perfledger_cost_models.projection.published_results import PublishedRatio
from perfledger_cost_models.projection.roofline import DeviceRoofs
from perfledger_cost_models.projection.validation import (
    check_of,
    leave_one_out,
    model_of,
)
from perfledger_cost_models.projection.workload_descriptor import (
    ArithmeticWork,
    MemoryTraffic,
    WorkloadDescriptor,
)

OLD = DeviceRoofs(
    key="old",
    vendor="NVIDIA",
    design="NVIDIA 8.0",
    flops_per_second={"bfloat16": 100.0},
    bytes_per_second=10.0,
    interconnect_bytes_per_second=None,
)
NEW = replace(
    OLD,
    key="new",
    design="NVIDIA 9.0",
    flops_per_second={"bfloat16": 300.0},
    bytes_per_second=20.0,
)
STEP = WorkloadDescriptor(
    name="step",
    unit="tokens",
    arithmetic=(ArithmeticWork(dtypes=("bfloat16",), flops=600.0, source="counted"),),
    memory=(MemoryTraffic(bytes=20.0, source="counted"),),
)
SPEED = 8 / 3  # 6 + 2 seconds before, 2 + 1 after


def ratio(workload, error):
    return PublishedRatio(
        round="training v3.0",
        workload=workload,
        scenario="Offline",
        accelerators=1,
        source_device="old",
        target_device="new",
        speed=SPEED * exp(error),
        published="2023-04",
        source="a list",
    )


@pytest.fixture
def checked():
    names = [f"step {number}" for number in range(40)]
    errors = [0.1, -0.1] * 20
    ratios = [*map(ratio, names, errors), ratio("outlier", 2.0), ratio("outlier", 1.9)]
    steps = [msgspec.structs.replace(STEP, name=name) for name in (*names, "outlier")]
    return leave_one_out(ratios, steps, {"old": OLD, "new": NEW}, kind_of=model_of)


def test_a_models_own_results_do_not_tell_its_interval(checked):
    """The outlier is judged by the others, and does not widen its own interval."""
    *others, outlier, second = checked

    assert not outlier.is_covered
    assert not second.is_covered
    assert all(each.is_covered for each in others)


def test_the_check_counts_what_is_covered_and_how_far_the_point_is_off(checked):
    projection_check = check_of(checked)

    assert projection_check.ratios == 42
    assert projection_check.covered_share == pytest.approx(40 / 42)
    assert projection_check.median_error == pytest.approx(exp(0.1) - 1, rel=0.1)
