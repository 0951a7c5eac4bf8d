from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Kernel, OperationFamily, Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.hardware.device_lookup import match_hardware
from perfledger_profiles.hardware.roofline import roofline_of

A100 = match_hardware("NVIDIA A100-SXM4-40GB").hardware
TPU = ProfiledDevice(name="TPU v6 Lite", peak_flops=918e12, peak_bytes_per_second=1638e9)
STEP = Profile(
    workload="m:f",
    side=Side.HEAD,
    tool="jax.profiler",
    steps=3,
    step_seconds=1.0,
    operations=(),
)


def kernel(name="k", seconds=1.0, **more):
    return Kernel(name=name, family=OperationFamily.GEMM, seconds=seconds, count=1.0, **more)


def profile_of(make, *kernels, seconds=10.0, device=None):
    step = make.profile(make.operation("k", seconds))
    return replace(step, kernels=kernels, device=device)


def test_kernels_with_work_and_bytes_have_points_and_the_step_their_sum(make):
    gemm = kernel("gemm", 2.0, flops=312e12, bytes=1e12)
    add = kernel("add", 3.0, flops=1e12, bytes=1555e9)
    unknown = kernel("unknown", 5.0, flops=1e12)

    roofline = roofline_of(profile_of(make, gemm, add, unknown), A100, dtype="bfloat16")

    assert roofline is not None
    assert [(p.name, p.is_memory_side) for p in roofline.points] == [("add", True), ("gemm", False)]
    assert [p.attained for p in roofline.points] == [pytest.approx(1 / 3), pytest.approx(0.5)]
    assert roofline.covered_share == 0.5
    assert roofline.step is not None
    assert roofline.step.flops_per_second == pytest.approx(31.3e12)
    assert roofline.step.intensity_flop_per_byte == pytest.approx(313e12 / 2.555e12)
    assert roofline.ceilings.ridge_flop_per_byte == pytest.approx(200.6, abs=0.1)


def test_a_profile_that_states_its_peaks_needs_no_table(make):
    profile = profile_of(make, kernel(flops=1e12, bytes=1e12), device=TPU)

    roofline = roofline_of(profile, None, dtype="bfloat16")

    assert roofline is not None
    assert roofline.device == "TPU v6 Lite"
    assert roofline.ceilings.peak_flops_per_second == 918e12
    assert roofline_of(profile, None, dtype="float32") is None


def test_what_a_device_states_of_itself_is_preferred_to_the_table(make):
    stated = replace(TPU, peak_bytes_per_second=1637.993152512e9)
    profile = profile_of(make, kernel(flops=1e12, bytes=1e12), device=stated)

    roofline = roofline_of(profile, match_hardware("TPU v6 Lite").hardware, dtype="bfloat16")

    assert roofline is not None
    assert roofline.ceilings.ridge_flop_per_byte == pytest.approx(560.442, abs=5e-4)


@pytest.mark.parametrize("peak", [None, 0.0, nan, inf, -1.0])
def test_a_peak_that_is_none_gives_no_roofline(make, peak):
    device = replace(TPU, peak_flops=peak)
    profile = profile_of(make, kernel(flops=1e12, bytes=1e12), device=device)

    assert roofline_of(profile, None, dtype="bfloat16") is None


def test_an_unknown_device_type_or_work_gives_no_roofline(make):
    counted = profile_of(make, kernel(flops=1e12, bytes=1e12))

    assert roofline_of(counted, None, dtype="bfloat16") is None
    assert roofline_of(counted, A100, dtype="float8") is None
    assert roofline_of(profile_of(make, kernel()), A100, dtype="bfloat16") is None
    assert roofline_of(profile_of(make), A100, dtype="bfloat16") is None


@pytest.mark.parametrize(
    ("flops", "bytes_moved", "seconds"),
    [(1e-300, 1e300, 1.0), (1e300, 1e300, 1e-300), (1.0, nan, 1.0)],
)
def test_figures_that_no_device_reaches_have_no_point(make, flops, bytes_moved, seconds):
    broken = kernel(seconds=seconds, flops=flops, bytes=bytes_moved)

    assert roofline_of(profile_of(make, broken), A100, dtype="bfloat16") is None


@pytest.mark.slow
@given(
    st.floats() | st.none(),
    st.floats() | st.none(),
    st.floats(min_value=0.0, allow_infinity=False),
)
def test_no_figure_of_a_broken_file_is_more_than_a_missing_point(flops, bytes_moved, seconds):
    step = Kernel(
        name="k",
        family=OperationFamily.OTHER,
        seconds=seconds,
        count=1.0,
        flops=flops,
        bytes=bytes_moved,
    )
    good = kernel(flops=1e12, bytes=1e12)
    profile = replace(STEP, kernels=(step, good))

    roofline = roofline_of(profile, A100, dtype="bfloat16")

    assert roofline is not None
    assert len(roofline.points) in (1, 2)
