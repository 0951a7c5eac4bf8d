from dataclasses import replace
from math import exp, log, sqrt

import pytest
from hypothesis import given, strategies as st
from scipy.stats import t as student

from perfledger_cost_models.csv_table import PriceSheetError
from perfledger_cost_models.projection.projection_error import (
    COLUMNS,
    VENDOR_VARIANCE,
    Calibration,
    ProjectionResidual,
    PublishedRatio,
    calibrate,
    other_designs,
    packaged_ratios,
    read_published,
    residuals_of,
)
from perfledger_cost_models.projection.roofline import LEAST_REACH, DeviceRoofs
from perfledger_cost_models.projection.workload_descriptor import MemoryTraffic, WorkloadDescriptor

AMPERE = DeviceRoofs(
    key="ampere",
    vendor="NVIDIA",
    design="NVIDIA 8.0",
    flops_per_second={"bfloat16": 1.0},
    bytes_per_second=1.0,
    interconnect_bytes_per_second=None,
)
HOPPER = replace(AMPERE, key="hopper", design="NVIDIA 9.0", bytes_per_second=2.0)
ADA = replace(AMPERE, key="ada", design="NVIDIA 8.9")
TURING = replace(AMPERE, key="turing", design="NVIDIA 7.5")
TPU = replace(AMPERE, key="tpu", design="Google TPU v4", vendor="Google")
RATIO = PublishedRatio(
    workload="step",
    scenario="Offline",
    accelerators=8,
    source_device="ampere",
    target_device="hopper",
    speed=2.0 * exp(0.1),
    published="2023-04",
    source="a list",
)
CALIBRATION = Calibration(base_variance=0.02, base_models=7, design_variance=0.07, design_models=3)
ROW = "step,Offline,8,ampere,10,hopper,25,samples_per_second,2023-04,a list"


def residual(model, error, *, distance=1.0, designs=0):
    return ProjectionResidual(
        ratio=RATIO, model=model, log_error=error, reach=distance, other_designs=designs
    )


def table(*rows):
    return "\n".join([",".join(COLUMNS), *rows, ""])


def half(source, target, *, distance=1.0, calibration=CALIBRATION):
    return calibration.log_half_width(distance=distance, source=source, target=target)


def test_a_model_counts_once_however_often_it_was_published():
    found = calibrate(
        [
            *(residual("often", 0.1) for _ in range(9)),
            residual("once", 0.3),
            residual("far", 0.5, designs=1),
        ]
    )

    assert found.base_variance == pytest.approx((0.1**2 + 0.3**2) / 2)
    assert found.base_models == 2


def test_the_variance_is_per_unit_of_reach():
    found = calibrate([residual("a", 0.2, distance=4.0), residual("b", 0.4, designs=1)])

    assert found.base_variance == pytest.approx(0.01)


def test_another_design_has_what_the_road_does_not_explain():
    found = calibrate([residual("a", 0.1), residual("b", 0.5, designs=2)])

    assert found.design_variance == pytest.approx((0.25 - 0.01) / 2)


def test_a_design_never_makes_a_projection_surer():
    found = calibrate([residual("a", 0.5), residual("b", 0.1, designs=1)])

    assert found.design_variance == 0


@pytest.mark.parametrize("designs", [0, 1])
def test_without_results_of_either_kind_there_is_no_calibration(designs):
    with pytest.raises(ValueError, match="no published results"):
        calibrate([residual("a", 0.1, designs=designs)])


def test_the_interval_is_students_for_as_many_models():
    found = half(AMPERE, HOPPER)

    assert found == pytest.approx(student.ppf(0.95, 7) * sqrt(0.02))


def test_another_design_and_another_vendor_widen_it_in_turn():
    widths = [half(AMPERE, target) for target in (HOPPER, ADA, TPU)]

    assert widths == sorted(widths)
    expected = student.ppf(0.95, 3) * sqrt(0.02 + 0.07 + VENDOR_VARIANCE)
    assert widths[-1] == pytest.approx(expected)


def test_few_models_widen_it():
    few = replace(CALIBRATION, base_models=2)

    assert half(AMPERE, HOPPER, calibration=few) > half(AMPERE, HOPPER)


def test_a_device_is_itself_without_any_doubt():
    assert half(TPU, TPU) == 0


def test_devices_that_are_alike_on_paper_are_not_taken_to_be_the_same():
    twin = replace(AMPERE, key="twin")

    assert half(AMPERE, twin, distance=0.0) == pytest.approx(
        student.ppf(0.95, 7) * sqrt(0.02 * LEAST_REACH)
    )


@pytest.mark.parametrize(
    ("source", "target", "count"),
    [(AMPERE, HOPPER, 0), (AMPERE, ADA, 1), (TURING, ADA, 2), (ADA, ADA, 0), (TPU, AMPERE, 1)],
)
def test_designs_that_are_not_calibrated_are_counted(source, target, count):
    assert other_designs(source, target) == count


@given(st.floats(0.05, 20))
def test_a_residual_is_the_log_of_published_over_projected(speed):
    step = WorkloadDescriptor(
        name="step", unit="tokens", memory=(MemoryTraffic(bytes=1.0, source="counted"),)
    )

    (found,) = residuals_of(
        [replace(RATIO, speed=speed)], [step], {"ampere": AMPERE, "hopper": HOPPER}
    )

    assert found.log_error == pytest.approx(log(speed / 2))
    assert found.reach == pytest.approx(log(2))
    assert (found.model, found.other_designs) == ("step", 0)


def test_a_rate_grows_and_a_time_shrinks_with_speed():
    faster, sooner = read_published(
        table(ROW, ROW.replace("samples_per_second", "minutes")), "results.csv"
    )

    assert (faster.speed, sooner.speed) == (2.5, 0.4)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (ROW.replace("samples_per_second", "furlongs"), "furlongs"),
        (ROW.replace("10,", "0,"), "no result"),
        (ROW.replace("25", "nan"), "plain decimal"),
        (ROW.replace("ampere", ""), "is empty"),
        ("step,Offline", "cells"),
    ],
)
def test_a_table_that_cannot_be_trusted_is_refused(row, problem):
    with pytest.raises(PriceSheetError, match=problem):
        read_published(table(row), "results.csv")


def test_packaged_results_say_where_and_when_they_were_published():
    ratios = packaged_ratios()

    assert len(ratios) == 70
    assert all("mlcommons/" in ratio.source and ratio.published for ratio in ratios)
