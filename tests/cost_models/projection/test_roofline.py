from dataclasses import replace
from math import log

import msgspec
import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.projection.roofline import (
    DeviceRoofs,
    MissingPeakError,
    dtypes_used,
    max_projection_error,
    resource_seconds,
)
from perfledger_cost_models.projection.workload_descriptor import (
    ArithmeticWork,
    CommunicationPattern,
    CommunicationVolume,
    FixedTime,
    MemoryTraffic,
    WorkloadDescriptor,
)

OLD = DeviceRoofs(
    key="old",
    vendor="Acme",
    design="Acme 1",
    flops_per_second={"bfloat16": 100.0},
    bytes_per_second=10.0,
    interconnect_bytes_per_second=4.0,
)
NEW = replace(
    OLD,
    key="new",
    flops_per_second={"bfloat16": 300.0, "float8": 600.0},
    bytes_per_second=20.0,
    interconnect_bytes_per_second=None,
)
STEP = WorkloadDescriptor(
    name="step",
    unit="tokens",
    arithmetic=(ArithmeticWork(dtypes=("float8", "bfloat16"), flops=1200.0, source="counted"),),
    memory=(MemoryTraffic(bytes=40.0, source="counted"),),
    fixed=FixedTime(seconds=0.5, source="profiled"),
)
positive = st.floats(1e-6, 1e12)


def communicating(pattern, devices):
    part = CommunicationVolume(pattern=pattern, bytes=8.0, source="counted")
    return msgspec.structs.replace(STEP, communication=(part,), devices=devices)


def test_each_resource_takes_its_work_over_its_roof():
    found_resource_seconds = resource_seconds(STEP, OLD)

    assert (
        found_resource_seconds.arithmetic,
        found_resource_seconds.memory,
        found_resource_seconds.communication,
    ) == (12.0, 4.0, 0.0)
    assert found_resource_seconds.fixed == 0.5
    assert found_resource_seconds.total == 16.5


def test_operations_run_in_the_first_type_that_the_device_has():
    assert dtypes_used(STEP, OLD) == ("bfloat16",)
    assert dtypes_used(STEP, NEW) == ("float8",)
    assert resource_seconds(STEP, NEW).arithmetic == 2.0


@pytest.mark.parametrize(
    ("pattern", "passes"),
    [
        (CommunicationPattern.ALL_REDUCE, 1.5),
        (CommunicationPattern.ALL_GATHER, 0.75),
        (CommunicationPattern.REDUCE_SCATTER, 0.75),
        (CommunicationPattern.ALL_TO_ALL, 0.75),
        (CommunicationPattern.BROADCAST, 1.0),
    ],
)
def test_a_collective_crosses_the_link_as_nccl_tests_counts_it(pattern, passes):
    found_resource_seconds = resource_seconds(communicating(pattern, 4), OLD)

    assert found_resource_seconds.communication == pytest.approx(passes * 8.0 / 4.0)


def test_a_type_without_a_peak_is_not_known():
    part = ArithmeticWork(dtypes=("int8", "int4"), flops=1.0, source="counted")

    with pytest.raises(MissingPeakError, match="old has no published peak for int8 or int4"):
        resource_seconds(msgspec.structs.replace(STEP, arithmetic=(part,)), OLD)


def test_messages_without_an_interconnect_are_not_known():
    with pytest.raises(MissingPeakError, match="new has no published interconnect"):
        resource_seconds(communicating(CommunicationPattern.ALL_REDUCE, 2), NEW)


@pytest.mark.parametrize("roof", [0.0, -1.0, float("nan"), float("inf")])
def test_a_roof_is_a_positive_number(roof):
    with pytest.raises(ValueError, match="old"):
        replace(OLD, bytes_per_second=roof)


def test_the_reach_is_between_the_resource_that_gains_most_and_the_host():
    found_max_projection_error = max_projection_error(
        resource_seconds(STEP, OLD), resource_seconds(STEP, NEW)
    )

    assert found_max_projection_error == pytest.approx(log(6))


def test_the_reach_counts_what_gets_slower_too():
    found_max_projection_error = max_projection_error(
        resource_seconds(STEP, OLD),
        resource_seconds(
            STEP, replace(OLD, flops_per_second={"bfloat16": 200.0}, bytes_per_second=5.0)
        ),
    )

    assert found_max_projection_error == pytest.approx(log(2) + log(2))


@given(positive, positive)
def test_seconds_are_linear_in_the_work(scale, flops):
    def seconds(amount):
        part = ArithmeticWork(dtypes=("bfloat16",), flops=amount, source="counted")
        return resource_seconds(
            WorkloadDescriptor(name="step", unit="tokens", arithmetic=(part,)), OLD
        ).total

    assert seconds(flops * scale) == pytest.approx(scale * seconds(flops))
