"""What is projected from the table of devices, held against what was published."""

from math import log
from statistics import median

import pytest

from perfledger_cost_models.projection.projection import Projection, leave_one_model_out, project
from perfledger_cost_models.projection.projection_error import (
    calibrate,
    packaged_ratios,
    residuals_of,
)
from perfledger_cost_models.projection.workload_descriptor import packaged_descriptors
from perfledger_profiles.hardware.device_peaks import known_hardware
from perfledger_service.usecases.cost.device_efficiency import known_roofs


@pytest.fixture(scope="module")
def checked():
    return leave_one_model_out(packaged_ratios(), packaged_descriptors(), known_roofs())


def test_every_device_has_roofs_below_its_peaks():
    for hardware in known_hardware():
        roofs = known_roofs()[hardware.key]

        assert roofs.bytes_per_second < hardware.memory_bytes_per_second
        for dtype, peak in hardware.peak_flops.items():
            assert 0.5 * peak < roofs.flops_per_second[dtype] < peak


def test_designs_are_told_apart_by_capability_else_by_name():
    roofs = known_roofs()

    assert roofs["a100-sxm4-80gb"].design == roofs["a100-pcie-40gb"].design == "NVIDIA 8.0"
    assert roofs["tpu-v4"].design == "Google TPU v4"


def test_a_link_counts_one_way():
    assert known_roofs()["a100-sxm4-80gb"].interconnect_bytes_per_second == pytest.approx(234e9)
    assert known_roofs()["t4"].interconnect_bytes_per_second is None


def test_from_a100_to_h100_the_goals_are_met_by_projections_that_have_not_seen_the_model(checked):
    near = [each for each in checked if each.projection.is_calibrated]
    errors = [abs(each.projection.speed / each.published.speed - 1) for each in near]

    assert len(near) == 37
    assert 0.80 <= sum(each.is_covered for each in near) / len(near) <= 0.97
    assert median(errors) < 0.20


def test_the_median_interval_is_narrow_enough_to_say_something(checked):
    widths = [
        (each.projection.high - each.projection.low) / each.projection.speed
        for each in checked
        if each.projection.is_calibrated
    ]

    assert median(widths) < 0.70


def test_other_designs_are_covered_as_well_with_wider_intervals(checked):
    far = [each for each in checked if not each.projection.is_calibrated]

    assert sum(each.is_covered for each in far) / len(far) >= 0.80
    assert all(
        log(each.projection.high / each.projection.low) > log(2)
        for each in checked
        if not each.projection.is_calibrated
    )


@pytest.mark.parametrize("name", ["training/bert", "training/resnet"])
def test_what_was_published_of_tpu_v4_lies_in_the_interval(name):
    """1.2 to 1.7 times an A100: Jouppi et al. 2023, abstract."""
    roofs, descriptors = known_roofs(), packaged_descriptors()
    (workload,) = (each for each in descriptors if each.name == name)

    found = project(
        workload,
        source=roofs["a100-sxm4-80gb"],
        target=roofs["tpu-v4"],
        calibration=calibrate(residuals_of(packaged_ratios(), descriptors, roofs)),
    )

    assert isinstance(found, Projection)
    assert found.low < 1.2
    assert found.high > 1.7
