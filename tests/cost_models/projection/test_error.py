from dataclasses import replace
from math import exp, inf, log, sqrt

import pytest
from hypothesis import given, strategies as st
from scipy.stats import t as student

from perfledger_cost_models.projection.error import (
    Calibration,
    PairClass,
    ProjectionResidual,
    calibrate,
    pair_class,
    residuals_of,
)
from perfledger_cost_models.projection.published_results import PublishedRatio
from perfledger_cost_models.projection.roofline import MIN_REACH, DeviceRoofs, ResourceSeconds
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
    round="training v3.0",
    workload="step",
    scenario="Offline",
    accelerators=8,
    source_device="ampere",
    target_device="hopper",
    speed=2.0 * exp(0.1),
    published="2023-04",
    source="a list",
)
CALIBRATION = Calibration(
    scores={
        PairClass.SAME_DESIGN: tuple(n / 100 for n in range(1, 20)),
        PairClass.CALIBRATED_DESIGNS: tuple(n / 100 for n in range(1, 50)),
    },
    squares={PairClass.OTHER_DESIGN: 0.09, PairClass.OTHER_VENDOR: 0.36},
    designs=4,
    devices=frozenset({"ampere", "hopper"}),
    memory_shares=(0.2, 0.8),
    communication_share=0.3,
    dtypes=frozenset({"bfloat16", "int8"}),
)


def residual(error, *, pair=PairClass.CALIBRATED_DESIGNS, designs=(), reach=1.0, share=0.5):
    return ProjectionResidual(
        ratio=RATIO,
        model="a",
        log_error=error,
        reach=reach,
        pair_class=pair,
        designs=frozenset(designs),
        seconds=(busy(share), busy(0.5)),
        dtypes=frozenset({"bfloat16"}),
    )


def busy(memory, communication=0.0):
    return ResourceSeconds(
        arithmetic=1 - memory - communication, memory=memory, communication=communication, fixed=1.0
    )


def half(source, target, *, distance=1.0, calibration=CALIBRATION, **more):
    return calibration.log_half_width(distance=distance, source=source, target=target, **more)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (AMPERE, replace(AMPERE, key="ampere pcie"), PairClass.SAME_DESIGN),
        (ADA, replace(ADA, key="ada pcie"), PairClass.SAME_DESIGN),
        (AMPERE, HOPPER, PairClass.CALIBRATED_DESIGNS),
        (AMPERE, ADA, PairClass.OTHER_DESIGN),
        (TURING, ADA, PairClass.OTHER_DESIGN),
        (TPU, AMPERE, PairClass.OTHER_VENDOR),
    ],
)
def test_a_pair_is_classed_by_what_the_two_share(source, target, expected):
    assert pair_class(source, target) is expected
    assert pair_class(target, source) is expected


def test_a_near_class_has_the_conformal_quantile_of_its_scores():
    """ceil(0.94 x 50) of 49 scores, ceil(0.94 x 20) of 19."""
    twin = replace(AMPERE, key="twin")

    assert half(AMPERE, HOPPER) == pytest.approx(0.47)
    assert half(AMPERE, HOPPER, distance=4.0) == pytest.approx(0.94)
    assert half(AMPERE, twin) == pytest.approx(0.19)


def test_what_was_not_checked_has_the_largest_score():
    assert half(AMPERE, HOPPER, is_checked=False) == pytest.approx(0.49)


def test_more_coverage_than_the_scores_can_show_is_unknown():
    assert half(AMPERE, HOPPER, coverage=0.96) == pytest.approx(0.49)
    assert half(AMPERE, HOPPER, coverage=0.97) == inf


def test_another_design_and_another_vendor_have_students_interval_for_as_many_designs():
    factor = student.ppf(0.95, 4)

    assert half(AMPERE, ADA) == pytest.approx(factor * 0.3)
    assert half(AMPERE, TPU) == pytest.approx(factor * 0.6)


def test_without_results_of_another_vendor_its_interval_is_unknown():
    assert half(AMPERE, TPU, calibration=replace(CALIBRATION, squares={})) == inf


def test_a_device_is_itself_without_any_doubt():
    assert half(TPU, TPU) == 0


def test_devices_that_are_alike_on_paper_are_not_taken_to_be_the_same():
    twin = replace(AMPERE, key="twin")

    assert half(AMPERE, twin, distance=0.0) == pytest.approx(0.19 * sqrt(MIN_REACH))


@pytest.mark.parametrize(
    ("source", "target", "seconds", "is_checked"),
    [
        (AMPERE, HOPPER, (busy(0.2), busy(0.8)), True),
        (AMPERE, HOPPER, (busy(0.2, 0.3), busy(0.5, 0.25)), True),
        (AMPERE, HOPPER, (busy(0.5), busy(0.9)), False),
        (AMPERE, HOPPER, (busy(0.1), busy(0.5)), False),
        (AMPERE, HOPPER, (busy(0.5), busy(0.5, 0.4)), False),
        (AMPERE, replace(HOPPER, key="larger hopper"), (busy(0.5), busy(0.5)), False),
        (AMPERE, ADA, (busy(0.5), busy(0.5)), False),
    ],
)
def test_only_devices_and_mixes_of_resources_that_were_published_count_as_checked(
    source, target, seconds, is_checked
):
    before, after = seconds
    dtypes = frozenset({"bfloat16"})

    assert CALIBRATION.has_checked(source, target, before, after, dtypes) is is_checked


def test_only_types_that_were_published_count_as_checked():
    def has_checked(*dtypes):
        return CALIBRATION.has_checked(AMPERE, HOPPER, busy(0.5), busy(0.5), frozenset(dtypes))

    assert has_checked("bfloat16", "int8")
    assert not has_checked("bfloat16", "float64")


def test_scores_are_errors_per_root_of_reach_in_order():
    calibration = calibrate([residual(-0.4, reach=4.0), residual(0.1, share=0.3)])

    assert calibration.scores[PairClass.CALIBRATED_DESIGNS] == pytest.approx((0.1, 0.2))
    assert calibration.memory_shares == (0.3, 0.5)
    assert calibration.communication_share == 0
    assert calibration.devices == {"ampere", "hopper"}


def test_every_other_design_counts_once_however_often_it_was_published():
    far = [residual(0.1, pair=PairClass.OTHER_DESIGN, designs=["Ada"]) for _ in range(9)]

    calibration = calibrate(
        [
            residual(0.1),
            *far,
            residual(0.3, pair=PairClass.OTHER_DESIGN, designs=["Turing"]),
            residual(0.5, pair=PairClass.OTHER_VENDOR, designs=["TPU"]),
        ]
    )

    assert calibration.squares[PairClass.OTHER_DESIGN] == pytest.approx((0.1**2 + 0.3**2) / 2)
    assert calibration.squares[PairClass.OTHER_VENDOR] == pytest.approx(0.25)
    assert calibration.designs == 3


def test_without_results_of_calibrated_designs_there_is_no_calibration():
    with pytest.raises(ValueError, match="no published results"):
        calibrate([residual(0.1, pair=PairClass.OTHER_DESIGN, designs=["Ada"])])


@given(st.floats(0.05, 20))
def test_a_residual_is_the_log_of_published_over_projected(speed):
    step = WorkloadDescriptor(
        name="step", unit="tokens", memory=(MemoryTraffic(bytes=1.0, source="counted"),)
    )

    (projection_residual,) = residuals_of(
        [replace(RATIO, speed=speed)], [step], {"ampere": AMPERE, "hopper": HOPPER}
    )

    assert projection_residual.log_error == pytest.approx(log(speed / 2))
    assert projection_residual.reach == pytest.approx(log(2))
    assert projection_residual.model == "step"
    assert [each.memory_share for each in projection_residual.seconds] == [1.0, 1.0]
    assert projection_residual.pair_class is PairClass.CALIBRATED_DESIGNS
