from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import Kernel, OperationFamily, ProfiledDevice, ProfileReading
from perfledger_profiles.hardware.occupancy import (
    LIMITS,
    MAX_REGISTERS_PER_THREAD,
    OccupancyLimiter,
    dimensions,
    kernel_occupancy,
    occupancy_of,
    with_occupancy,
)
from perfledger_profiles.parsing.errors import ProfileError

KIB = 1024
V100 = ProfiledDevice(name="Tesla V100", compute_capability="7.0", multiprocessors=80)
A100 = ProfiledDevice(name="A100", compute_capability="8.0", multiprocessors=108)


def occupancy(**more):
    launch = {
        "grid": (1080, 1, 1),
        "block": (256, 1, 1),
        "registers": 32,
        "shared_memory_bytes": 0,
        "compute_capability": "8.0",
        "multiprocessors": 108,
    }
    return occupancy_of(**{**launch, **more})


def kernel(name="k", seconds=1.0, **more):
    launch = {
        "grid": "1080,1,1",
        "block": "256,1,1",
        "registers": 32,
        "shared_memory_bytes": 0,
    }
    return Kernel(
        name=name, family=OperationFamily.GEMM, seconds=seconds, count=1.0, **{**launch, **more}
    )


def test_nsight_compute_says_the_same_of_a_product_on_a_b200():
    found_occupancy = occupancy_of(
        grid=(288, 1, 1),
        block=(384, 1, 1),
        registers=168,
        shared_memory_bytes=205_696,
        compute_capability="10.0",
        multiprocessors=152,
    )

    assert found_occupancy is not None
    assert found_occupancy.theoretical == 0.1875
    assert min(found_occupancy.limits.values()) == 1
    assert found_occupancy.limits == {
        OccupancyLimiter.WARPS: 5,
        OccupancyLimiter.BLOCKS: 32,
        OccupancyLimiter.REGISTERS: 1,
        OccupancyLimiter.SHARED_MEMORY: 1,
    }
    assert found_occupancy.waves == pytest.approx(1.89, abs=0.005)


@pytest.mark.parametrize(
    ("compute_capability", "warps", "blocks"),
    [("8.7", 48, 16), ("8.8", 48, 16), ("10.3", 64, 32), ("11.0", 48, 24), ("12.1", 48, 24)],
)
def test_newer_devices_are_known_too(compute_capability, warps, blocks):
    found_occupancy = occupancy(
        compute_capability=compute_capability, block=(32, 1, 1), registers=16
    )

    assert found_occupancy is not None
    assert (
        found_occupancy.limits[OccupancyLimiter.WARPS],
        found_occupancy.limits[OccupancyLimiter.BLOCKS],
    ) == (
        warps,
        blocks,
    )


def test_too_few_blocks_keep_a_device_from_its_theoretical_occupancy():
    found_occupancy = occupancy(grid=(54, 1, 1))

    assert found_occupancy is not None
    assert found_occupancy.theoretical == 1.0
    assert found_occupancy.blocks_per_multiprocessor == 0.5
    assert found_occupancy.achieved == 0.5 * 256 / 2048


@pytest.mark.parametrize(
    ("blocks", "idle"), [(108 * 8, 0.0), (108 * 8 + 108, 0.4375), (54 * 8, 0.5), (108 * 16, 0.0)]
)
def test_the_last_wave_leaves_places_empty(blocks, idle):
    found_occupancy = occupancy(grid=(blocks, 1, 1))

    assert found_occupancy is not None
    assert found_occupancy.idle_wave_share == pytest.approx(idle)


@pytest.mark.parametrize(
    ("compute_capability", "shared_memory_bytes", "blocks"),
    [
        ("7.0", 0, 32),
        ("7.0", 257, 192),  # rounded up to 512 bytes, nothing reserved
        ("7.5", 64 * KIB, 1),
        ("8.0", 128, 145),  # 1152 bytes with what the driver reserves
        ("8.0", 129, 131),  # rounded up to 1280 bytes
        ("8.0", 163 * KIB, 1),
        ("8.6", 99 * KIB, 1),
        ("8.9", 49 * KIB, 2),
        ("9.0", 113 * KIB, 2),
        ("12.0", 99 * KIB, 1),
    ],
)
def test_shared_memory_is_given_out_in_units(compute_capability, shared_memory_bytes, blocks):
    found_occupancy = occupancy(
        compute_capability=compute_capability, shared_memory_bytes=shared_memory_bytes
    )

    assert found_occupancy is not None
    assert found_occupancy.limits[OccupancyLimiter.SHARED_MEMORY] == blocks


@pytest.mark.parametrize(
    ("registers", "blocks"), [(0, 32), (32, 8), (33, 6), (64, 4), (65, 3), (128, 2), (255, 1)]
)
def test_registers_are_given_out_by_warp(registers, blocks):
    found_occupancy = occupancy(registers=registers)

    assert found_occupancy is not None
    assert found_occupancy.limits[OccupancyLimiter.REGISTERS] == blocks


@pytest.mark.parametrize(
    "more",
    [
        {"compute_capability": "6.1"},
        {"compute_capability": ""},
        {"multiprocessors": 0},
        {"grid": (0, 1, 1)},
        {"block": (1025, 1, 1)},
        {"block": (0, 1, 1)},
        {"registers": 256},
        {"registers": -1},
        {"shared_memory_bytes": 163 * KIB + 1},
        {"shared_memory_bytes": -1},
        {"registers": 255, "block": (1024, 1, 1)},
    ],
)
def test_an_unknown_device_or_an_impossible_launch_has_none(more):
    assert occupancy(**more) is None


launches = st.fixed_dictionaries(
    {
        "grid": st.tuples(st.integers(1, 2**31 - 1), st.integers(1, 65_535), st.just(1)),
        "block": st.tuples(st.integers(1, 1024), st.just(1), st.just(1)),
        "registers": st.integers(0, MAX_REGISTERS_PER_THREAD),
        "shared_memory_bytes": st.integers(0, 227 * KIB),
        "compute_capability": st.sampled_from(sorted(LIMITS)),
        "multiprocessors": st.integers(1, 200),
    }
)


@pytest.mark.slow
@given(launches)
def test_occupancy_is_a_share_and_never_above_the_theoretical_one(launch):
    found_occupancy = occupancy_of(**launch)

    if found_occupancy is not None:
        assert 0 < found_occupancy.achieved <= found_occupancy.theoretical <= 1
        assert 0 <= found_occupancy.idle_wave_share < 1


@pytest.mark.slow
@given(launches, st.integers(0, 255))
def test_more_registers_never_raise_the_occupancy(launch, more):
    less = occupancy_of(**launch)
    registers = min(launch["registers"] + more, MAX_REGISTERS_PER_THREAD)
    found_occupancy = occupancy_of(**{**launch, "registers": registers})

    if less is not None:
        assert found_occupancy is None or found_occupancy.theoretical <= less.theoretical
    if less is None:
        assert found_occupancy is None


@pytest.mark.slow
@given(launches, st.integers(0, 64 * KIB))
def test_more_shared_memory_never_raises_the_occupancy(launch, more):
    less = occupancy_of(**launch)
    size = launch["shared_memory_bytes"] + more
    found_occupancy = occupancy_of(**{**launch, "shared_memory_bytes": size})

    if found_occupancy is not None:
        assert less is not None
        assert found_occupancy.theoretical <= less.theoretical


def test_the_smallest_launch_of_the_smallest_device_is_one_warp_of_its_64():
    found_occupancy = occupancy(grid=(1,), block=(1,), registers=0, multiprocessors=1)

    assert found_occupancy is not None
    assert (min(found_occupancy.limits.values()), found_occupancy.theoretical) == (32, 32 / 64)
    assert found_occupancy.achieved == 1 / (64 * 32)
    assert (found_occupancy.blocks_per_multiprocessor, found_occupancy.waves) == (1, 1 / 32)


def test_a_launch_may_use_all_of_a_multiprocessor():
    most = LIMITS["8.0"].shared_memory_bytes_per_block

    found_occupancy = occupancy(block=(1024,), registers=64, shared_memory_bytes=most)

    assert found_occupancy is not None
    assert (min(found_occupancy.limits.values()), found_occupancy.theoretical) == (1, 32 / 64)
    assert occupancy(block=(1024,), registers=65) is None
    assert occupancy(block=(1025,)) is None
    assert occupancy(registers=MAX_REGISTERS_PER_THREAD, block=(32,)) is not None
    assert occupancy(registers=MAX_REGISTERS_PER_THREAD + 1, block=(32,)) is None
    assert occupancy(shared_memory_bytes=most + 1) is None


@pytest.mark.parametrize("text", ["", "0,1,1", "1;2", "1,2,3,4", "-1", "a", "9" * 40, "1,,2", "²"])
def test_a_size_that_is_none_is_an_error_of_ours(text):
    with pytest.raises(ProfileError, match="launch size"):
        dimensions(text)


def test_sizes_of_one_to_three_numbers_are_read():
    assert [dimensions(text) for text in ("7", "1, 2", "1,2,3")] == [(7,), (1, 2), (1, 2, 3)]


def test_a_kernel_without_its_launch_or_device_has_none():
    assert kernel_occupancy(kernel(), None) is None
    assert kernel_occupancy(kernel(), replace(A100, multiprocessors=None)) is None
    assert kernel_occupancy(kernel(grid=""), A100) is None
    assert kernel_occupancy(kernel(registers=None), A100) is None
    assert kernel_occupancy(kernel(shared_memory_bytes=None), A100) is None
    assert kernel_occupancy(kernel(grid="x"), A100) is None


def test_a_profile_gets_its_kernels_occupancy_and_two_readings(make):
    kernels = (
        kernel("full", 3.0),  # all of the warps, ten blocks a multiprocessor
        kernel("half", 1.0, grid="54,1,1"),  # half a block of 256 of 2048 threads
        kernel("unknown", 9.0, grid=""),
    )
    profile = replace(make.profile(make.operation("full", 8.0)), kernels=kernels, device=A100)

    found_profile = with_occupancy(profile)

    assert [k.occupancy for k in found_profile.kernels] == [1.0, 0.0625, None]
    assert [k.blocks_per_multiprocessor for k in found_profile.kernels] == [10.0, 0.5, None]
    assert found_profile.reading("est_occupancy") == pytest.approx((3.0 * 1.0 + 1.0 * 0.0625) / 4.0)
    assert found_profile.reading("est_sm_efficiency") == pytest.approx((3.0 + 0.5) / 8.0)
    assert all(reading.is_estimate and reading.source for reading in found_profile.readings)


def test_what_was_measured_stays_and_what_torch_profiler_states_does_not(make):
    kernels = (kernel(occupancy=0.155),)
    profile = replace(make.profile(make.operation("k", 1.0)), kernels=kernels, device=A100)

    assert with_occupancy(profile).kernels[0].occupancy == 1.0
    assert with_occupancy(replace(profile, tool="ncu")).kernels[0].occupancy == 0.155


def test_what_torch_profiler_states_stays_where_the_device_is_unknown(make):
    profile = make.profile(make.operation("k", 1.0))
    profile = replace(profile, kernels=(kernel(occupancy=0.37),), device=None)

    assert with_occupancy(profile).kernels[0].occupancy == 0.37


def test_doing_it_twice_changes_nothing(make):
    kernels = (kernel(shared_memory_bytes=64 * KIB),)
    profile = replace(make.profile(make.operation("k", 1.0)), kernels=kernels, device=A100)

    once = with_occupancy(profile)

    assert with_occupancy(once) == once


def test_other_readings_are_kept(make):
    busy = ProfileReading(name="gpu_busy", value=0.5)
    one = ProfileReading(name="est_occupancy", value=0.1, subject="k")
    stale = ProfileReading(name="est_occupancy", value=0.2)
    profile = replace(
        make.profile(make.operation("k", 1.0)),
        kernels=(kernel(),),
        device=A100,
        readings=(busy, one, stale),
    )

    assert with_occupancy(profile).readings[:2] == (busy, one)
    assert with_occupancy(profile).reading("est_occupancy") == 1.0


def test_what_torch_profiler_misreads_is_noted(make):
    kernels = (kernel("a", shared_memory_bytes=48 * KIB), kernel("b", shared_memory_bytes=50_000))
    profile = replace(make.profile(make.operation("a", 1.0)), kernels=kernels, device=V100)

    (note,) = with_occupancy(profile).notes

    assert "1 of 2" in note
    assert with_occupancy(replace(profile, tool="nsys")).notes == ()
    assert with_occupancy(replace(profile, kernels=kernels[:1])).notes == ()


def test_a_profile_without_launches_comes_back_as_it_is(make):
    profile = make.profile(make.operation("aten::mm", 1.0))

    assert with_occupancy(profile) is profile


def test_kernels_without_time_have_no_mean(make):
    profile = replace(
        make.profile(make.operation("k", 1.0)), kernels=(kernel(seconds=0.0),), device=A100
    )

    assert with_occupancy(profile).readings == ()


# Warps, blocks and KiB of shared memory of a multiprocessor: "Technical Specifications per Compute
# Capability" of NVIDIA's CUDA C++ Programming Guide.
TECHNICAL_SPECIFICATIONS = {
    "7.0": (64, 32, 96),
    "7.5": (32, 16, 64),
    "8.0": (64, 32, 164),
    "8.6": (48, 16, 100),
    "8.7": (48, 16, 164),
    "8.8": (48, 16, 100),
    "8.9": (48, 24, 100),
    "9.0": (64, 32, 228),
    "10.0": (64, 32, 228),
    "10.3": (64, 32, 228),
    "11.0": (48, 24, 228),
    "12.0": (48, 24, 100),
    "12.1": (48, 24, 100),
}


def test_a_multiprocessor_has_the_limits_of_its_technical_specifications():
    assert {
        capability: (limits.warps, limits.blocks, limits.shared_memory_bytes // KIB)
        for capability, limits in LIMITS.items()
    } == TECHNICAL_SPECIFICATIONS
