"""What is projected from the table of devices, held against what was published."""

from dataclasses import replace
from statistics import median

import pytest

from perfledger_cost_models.projection.error import PairClass, calibrate, residuals_of
from perfledger_cost_models.projection.projection import Projection, project
from perfledger_cost_models.projection.published_results import packaged_ratios
from perfledger_cost_models.projection.validation import leave_one_out, model_of
from perfledger_cost_models.projection.workload_descriptor import packaged_descriptors
from perfledger_profiles.hardware.device_peaks import known_hardware
from perfledger_service.usecases.cost.device_efficiency import known_roofs, roofs_of


@pytest.fixture(scope="module")
def leave_out():
    def leave_out(kind_of):
        return leave_one_out(
            packaged_ratios(), packaged_descriptors(), known_roofs(), kind_of=kind_of
        )

    return leave_out


def test_every_device_has_roofs_below_its_peaks():
    for hardware in known_hardware():
        roofs = known_roofs()[hardware.key]

        assert roofs.bytes_per_second < hardware.memory_bytes_per_second
        for dtype, peak in hardware.peak_flops.items():
            assert 0.4 * peak < roofs.flops_per_second[dtype] < peak


def test_designs_are_told_apart_by_capability_else_by_name():
    roofs = known_roofs()

    assert roofs["a100-sxm4-80gb"].design == roofs["a100-pcie-40gb"].design == "NVIDIA 8.0"
    assert roofs["tpu-v4"].design == "Google TPU v4"


def test_a_link_counts_one_way():
    assert known_roofs()["a100-sxm4-80gb"].interconnect_bytes_per_second == pytest.approx(234e9)
    assert known_roofs()["t4"].interconnect_bytes_per_second is None


def test_less_power_for_the_same_peaks_is_a_slower_clock():
    """0.4 of the log: 300 W instead of 400 are 0.891 of the operations a second."""
    sxm, pcie = (known_roofs()[key] for key in ("a100-sxm4-80gb", "a100-pcie-80gb"))
    (board,) = (each for each in known_hardware() if each.key == "a100-pcie-80gb")
    same = roofs_of(replace(board, tdp_w=400.0))

    assert pcie.flops_per_second["int8"] == pytest.approx(sxm.flops_per_second["int8"] * 0.75**0.4)
    assert same.flops_per_second["int8"] == sxm.flops_per_second["int8"]
    assert roofs_of(replace(board, tdp_w=None)).flops_per_second == same.flops_per_second


@pytest.mark.parametrize(
    ("kind_of", "least"),
    [
        (lambda residual: residual.ratio.round, 0.88),
        (model_of, 0.86),
        (lambda residual: (residual.ratio.source_device, residual.ratio.target_device), 0.88),
    ],
    ids=["round", "model", "devices"],
)
def test_calibrated_intervals_cover_what_they_have_not_seen_and_are_narrow(
    leave_out, kind_of, least
):
    checked_projections = [each for each in leave_out(kind_of) if each.projection.is_calibrated]
    widths = [
        (each.projection.high - each.projection.low) / each.projection.speed
        for each in checked_projections
    ]

    assert len(checked_projections) >= 60
    assert (
        least
        <= sum(each.is_covered for each in checked_projections) / len(checked_projections)
        <= 0.97
    )
    assert median(widths) < 0.45


def test_each_class_of_pairs_is_projected_closer_than_by_its_peaks_or_bandwidths(leave_out):
    checked_projections = leave_out(model_of)
    for pair in PairClass:
        some = [each for each in checked_projections if each.residual.pair_class is pair]
        if len(some) < 15:  # a few ratios tell no median
            continue
        errors = {"projected": [], "peaks": [], "bandwidths": []}
        for each in some:
            before, after = each.projection.source_seconds, each.projection.target_seconds
            speeds = (
                each.projection.speed,
                before.arithmetic / after.arithmetic,
                before.memory / after.memory,
            )
            for name, speed in zip(errors, speeds, strict=True):
                errors[name].append(abs(speed / each.published.speed - 1))
        medians = {name: median(values) for name, values in errors.items()}

        assert min(medians, key=medians.__getitem__) == "projected", pair


def test_other_designs_are_covered_as_well_with_wider_intervals(leave_out):
    far = [
        each for each in leave_out(model_of) if each.residual.pair_class is PairClass.OTHER_DESIGN
    ]

    assert sum(each.is_covered for each in far) / len(far) >= 0.88
    assert all(each.projection.high > 2 * each.projection.low for each in far)
    assert not any(each.projection.is_calibrated for each in far)


@pytest.mark.parametrize("name", ["training/bert", "training/resnet"])
def test_what_was_published_of_tpu_v4_lies_in_the_interval(name):
    """1.2 to 1.7 times an A100: Jouppi et al. 2023, abstract."""
    roofs, descriptors = known_roofs(), packaged_descriptors()
    (workload,) = (each for each in descriptors if each.name == name)

    projection = project(
        workload,
        source=roofs["a100-sxm4-80gb"],
        target=roofs["tpu-v4"],
        calibration=calibrate(residuals_of(packaged_ratios(), descriptors, roofs)),
    )

    assert isinstance(projection, Projection)
    assert projection.low < 1.2
    assert projection.high > 1.7
