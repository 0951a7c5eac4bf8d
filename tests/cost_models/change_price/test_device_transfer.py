from dataclasses import replace
from math import exp, log

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.change_price.device_transfer import (
    DeviceTransfers,
    TransferError,
    carried_over,
)
from perfledger_cost_models.change_price.fleet_entry import COVERAGE, MeasuredChange
from perfledger_cost_models.projection.error import Calibration, PairClass
from perfledger_cost_models.projection.roofline import DeviceRoofs
from perfledger_cost_models.projection.workload_descriptor import (
    ArithmeticWork,
    MemoryTraffic,
    WorkloadDescriptor,
)

OLD = DeviceRoofs(
    key="old",
    vendor="NVIDIA",
    design="NVIDIA 8.0",
    flops_per_second={"float32": 1e14},
    bytes_per_second=1e12,
    interconnect_bytes_per_second=None,
)
NEW = replace(OLD, key="new", design="NVIDIA 9.0", flops_per_second={"float32": 4e14})
CALIBRATION = Calibration(
    scores={each: tuple(n / 100 for n in range(1, 51)) for each in PairClass},
    squares={},
    designs=0,
    devices=frozenset({"old", "new"}),
    memory_shares=(0.0, 1.0),
    communication_share=1.0,
    dtypes=frozenset({"float32"}),
)
TRANSFERS = DeviceTransfers(
    roofs={"Old": OLD, "New": NEW, "Twin": replace(OLD, key="twin")}, calibration=CALIBRATION
)
ends = st.floats(-0.9, 5)


def measured(**values):
    return MeasuredChange(
        **{"workload": "w", "change": (0.1, 0.12, 0.14), "measured_on": "Old"} | values
    )


def work(*, flops, bytes_moved):
    return WorkloadDescriptor(
        name="w",
        unit="step",
        arithmetic=(ArithmeticWork(dtypes=("float32",), flops=flops, source="counted"),),
        memory=(MemoryTraffic(bytes=bytes_moved, source="counted"),),
        fixed=None,
    )


@pytest.mark.parametrize("measured_on", [None, "New"])
def test_a_change_of_the_device_itself_is_not_widened(measured_on):
    assert TRANSFERS.factor(measured(measured_on=measured_on), "New") == 1


def test_a_change_of_another_device_is_widened_by_the_published_error():
    half = CALIBRATION.log_half_width(distance=log(4), source=OLD, target=NEW, coverage=COVERAGE)

    assert TRANSFERS.factor(measured(), "New") == pytest.approx(exp(half))
    assert half > 0


def test_counted_work_narrows_what_may_differ_where_one_resource_does_it_all():
    arithmetic = measured(work=work(flops=1e14, bytes_moved=1.0))

    assert 1 < TRANSFERS.factor(measured(), "Twin") < TRANSFERS.factor(arithmetic, "New")


@pytest.mark.parametrize(
    ("change", "device", "reason"),
    [
        (measured(measured_on="Xeon"), "New", "the peaks of Xeon are unknown"),
        (measured(), "Newer", "the peaks of Newer are unknown"),
        (measured(bound_outside="input"), "New", "bound by input, not by the device"),
        # 1 s of arithmetic and 0.5 s of memory before, 0.25 s and 0.5 s there.
        (
            measured(work=work(flops=1e14, bytes_moved=5e11)),
            "New",
            "bound by arithmetic on old and would be by memory bandwidth on new",
        ),
    ],
)
def test_a_change_with_another_bound_is_withheld(change, device, reason):
    with pytest.raises(TransferError, match=reason):
        TRANSFERS.factor(change, device)


@pytest.mark.parametrize(
    "change", [measured(), measured(measured_on="Xeon"), measured(bound_outside="input")]
)
def test_a_declared_factor_goes_before_what_peaks_tell(change):
    assert TRANSFERS.factor(change, "New", declared=2.0) == 2.0


def test_a_declared_factor_does_not_widen_what_was_measured_there():
    assert TRANSFERS.factor(measured(), "Old", declared=2.0) == 1.0


def test_without_devices_nothing_is_carried_over():
    with pytest.raises(TransferError, match="unknown"):
        DeviceTransfers().factor(measured(), "New")


def test_devices_without_a_common_type_are_not_compared():
    roofs = {"Old": OLD, "New": replace(NEW, flops_per_second={"bfloat16": 1e15})}

    with pytest.raises(TransferError, match="no peak of the same data type"):
        replace(TRANSFERS, roofs=roofs).factor(measured(), "New")


@given(st.lists(ends, min_size=3, max_size=3).map(sorted), st.floats(1, 10))
def test_a_carried_change_encloses_the_measured_one_and_keeps_its_sign(change, factor):
    low, middle, high = carried_over(measured(change=tuple(change)), factor).change

    assert -1 <= low <= change[0] <= middle <= change[2] <= high
    assert (low < 0) is (change[0] < 0)
    assert (high > 0) is (change[2] > 0)


@pytest.mark.parametrize("times", [1.5, 1 / 1.5])
def test_without_counted_work_devices_are_as_far_apart_as_their_most_different_peak(times):
    """Both peaks lie on one side of no change, which a step that waits for neither has."""
    there = replace(
        NEW, flops_per_second={"float32": 1e14 * times}, bytes_per_second=1e12 * times**0.5
    )
    transfers = replace(TRANSFERS, roofs={"Old": OLD, "New": there})

    half = CALIBRATION.log_half_width(
        distance=log(1.5), source=OLD, target=there, coverage=COVERAGE
    )
    assert transfers.factor(measured(), "New") == pytest.approx(exp(half))
