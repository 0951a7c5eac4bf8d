from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Kernel, OperationFamily, ProfiledDevice, ProfileReading
from perfledger_profiles.bottleneck.classification import Bottleneck, BottleneckDetail
from perfledger_profiles.bottleneck.device_bound import (
    SHAPES_UNKNOWN,
    VoteBasis,
    VotePart,
    device_vote,
)
from perfledger_profiles.hardware.device_lookup import match_hardware
from perfledger_profiles.parsing.operation_family import family_of

A100 = match_hardware("NVIDIA A100-SXM4-40GB").hardware
RIDGE = 312e12 / 1555e9
VECTOR_RIDGE = 19.5e12 / 1555e9


def kernel(name="k", family=OperationFamily.OTHER, seconds=1.0, **more):
    return Kernel(name=name, family=family, seconds=seconds, count=1.0, **more)


def intense(share, *, ridge=RIDGE, seconds=1.0, **more):
    """Return a kernel whose intensity is this share of the ridge, far below both roofs."""
    return kernel(seconds=seconds, flops=share * ridge * 1e6, bytes=1e6, **more)


def vote(make, *kernels, readings=(), operations=(), device=None, hardware=A100):
    profile = replace(make.profile(*operations), kernels=kernels, readings=readings, device=device)
    return device_vote(profile, hardware)


def basis_of(result):
    """Return the basis of the largest part, None if no kernel shows its limit."""
    return result.parts[0].basis if result.parts else None


def counters(subject="", **values):
    return tuple(ProfileReading(name=name, value=v, subject=subject) for name, v in values.items())


def named(name, seconds=1.0):
    return kernel(name, family_of(name), seconds)


PAGED = "void vllm::paged_attention_v2_kernel<uint16_t, uint16_t, 128, 16, 128>"
PRODUCT = "nvjet_tst_64x8_64x16_2x1_v_bz_TNT"


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16>", Bottleneck.MEMORY),
        ("void gemvx::kernel<int, int, __half, __half, float, false>", Bottleneck.MEMORY),
        (PAGED, Bottleneck.MEMORY),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<2, 1>", Bottleneck.MEMORY),
        ("kernel_unified_attention_3d", Bottleneck.MEMORY),
        ("triton_poi_fused_addmm_gelu_view_15", Bottleneck.MEMORY),
        ("triton_red_fused_add_native_layer_norm_16", Bottleneck.MEMORY),
        ("triton_per_fused_mean_mul_pow_rsqrt_8", Bottleneck.MEMORY),
        ("triton_tem_fused_mm_2", Bottleneck.COMPUTE),
        ("triton__0d1d2d3d4d5d6d7d8d9d10d11d12d13d14", None),
        ("_ZN5aiter40mla_a8w8_qh16_qseqlen1_gqaratio16E", Bottleneck.MEMORY),
        ("fmhaSm100aKernel_QE4m3KvE2m1OE4m3H128PagedKvDenseP16SwapsAbForGen", Bottleneck.MEMORY),
        ("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64>>", None),
        ("kernel_unified_attention_2d", None),
        ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>", Bottleneck.COMPUTE),
        (PRODUCT, Bottleneck.COMPUTE),
    ],
)
def test_what_reads_each_number_once_is_limited_by_memory(make, name, limit):
    found_device_vote = vote(make, named(name))

    assert [part.bottleneck for part in found_device_vote.parts] == ([limit] if limit else [])
    assert found_device_vote.bottleneck is Bottleneck.DEVICE  # a name is an estimate


def test_the_products_of_a_decode_step_are_not_known_without_their_shapes(make):
    found_device_vote = vote(make, named(PAGED), named(PRODUCT, 3.0))

    assert found_device_vote.parts == (VotePart(Bottleneck.MEMORY, 0.25, VoteBasis.FAMILY),)
    assert found_device_vote.reason.endswith(f"75 % by an unknown limit: {SHAPES_UNKNOWN}")


@pytest.mark.parametrize(
    ("intensity", "limit"),
    [(31.6, Bottleneck.MEMORY), (150, None), (500, Bottleneck.COMPUTE)],
)
def test_the_shapes_of_a_product_show_its_limit(make, intensity, limit):
    shapes = "BFloat16[32,2880] BFloat16[2880,201088]"
    operation = make.operation(PRODUCT, 3.0, shapes=shapes, path="aten::linear/aten::mm")
    reading = ProfileReading(
        name="arithmetic_intensity", value=intensity, subject=f"aten::mm {shapes}"
    )

    found_device_vote = vote(
        make, named(PAGED), named(PRODUCT, 3.0), operations=(operation,), readings=(reading,)
    )

    assert (
        next((p.bottleneck for p in found_device_vote.parts if p.basis is VoteBasis.SHAPES), None)
        is limit
    )
    assert found_device_vote.bottleneck is Bottleneck.DEVICE  # the real traffic was not counted


@pytest.mark.parametrize(
    ("tensor", "memory", "expected"),
    [
        (0.49, 0.71, Bottleneck.MEMORY),
        (0.50, 0.71, None),
        (0.49, 0.70, None),
        (0.71, 0.49, Bottleneck.COMPUTE),
        (0.70, 0.49, None),
        (0.71, 0.50, None),
    ],
)
def test_xprofs_pair_of_counters_decides_at_70_and_50_percent(make, tensor, memory, expected):
    readings = counters(tensor_active=tensor, dram_bw_util=memory)

    found_device_vote = vote(make, kernel(), readings=readings)

    assert found_device_vote.bottleneck is (expected or Bottleneck.DEVICE)
    assert basis_of(found_device_vote) is (VoteBasis.COUNTERS if expected else None)


@pytest.mark.parametrize(
    ("compute", "memory", "expected"),
    [
        (0.2359, 0.2168, Bottleneck.LATENCY),
        (0.599, 0.599, Bottleneck.LATENCY),
        (0.60, 0.10, Bottleneck.DEVICE),
        (0.10, 0.60, Bottleneck.DEVICE),
        (0.80, 0.40, Bottleneck.COMPUTE),
        (0.40, 0.80, Bottleneck.MEMORY),
    ],
)
def test_a_kernel_below_60_percent_of_both_roofs_waits_for_latencies(
    make, compute, memory, expected
):
    readings = counters("k", compute_sol=compute, memory_sol=memory)

    assert vote(make, kernel(), readings=readings).bottleneck is expected


def test_a_kernel_of_several_launch_shapes_has_counters_for_each(make):
    one = kernel(seconds=3.0, grid="1,1,1", block="32,1,1")
    other = kernel(grid="2,1,1", block="32,1,1")
    readings = (
        *counters("k <1,1,1> <32,1,1>", compute_sol=0.1, memory_sol=0.9),
        *counters("k <2,1,1> <32,1,1>", compute_sol=0.9, memory_sol=0.1),
    )

    found_device_vote = vote(make, one, other, readings=readings)

    assert (found_device_vote.bottleneck, found_device_vote.parts[0].share) == (
        Bottleneck.MEMORY,
        0.75,
    )


def test_an_estimate_is_no_counter(make):
    readings = tuple(
        replace(reading, is_estimate=True)
        for reading in counters(tensor_active=0.0, dram_bw_util=0.9)
    )

    assert vote(make, kernel(), readings=readings).bottleneck is Bottleneck.DEVICE


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.49, Bottleneck.MEMORY),
        (0.51, Bottleneck.DEVICE),
        (0.79, Bottleneck.DEVICE),
        (0.81, Bottleneck.COMPUTE),
    ],
)
def test_the_intensity_decides_away_from_the_ridge(make, share, expected):
    found_device_vote = vote(make, intense(share))

    assert found_device_vote.bottleneck is expected
    assert basis_of(found_device_vote) is (
        None if expected is Bottleneck.DEVICE else VoteBasis.INTENSITY
    )


def test_a_kernel_off_the_matrix_units_has_the_ridge_of_float32(make):
    off = intense(0.9, ridge=VECTOR_RIDGE, is_tensor=False)
    on = intense(0.9, ridge=VECTOR_RIDGE, is_tensor=True)

    assert vote(make, off).bottleneck is Bottleneck.COMPUTE
    assert vote(make, on).bottleneck is Bottleneck.MEMORY


def test_without_facts_the_peaks_that_the_profile_states_are_used(make):
    device = ProfiledDevice(name="TPU", peak_flops=312e12, peak_bytes_per_second=1555e9)

    found_device_vote = vote(make, intense(0.9), device=device, hardware=None)

    assert found_device_vote.bottleneck is Bottleneck.COMPUTE


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        (OperationFamily.GEMM, Bottleneck.COMPUTE),
        (OperationFamily.CONVOLUTION, Bottleneck.COMPUTE),
        (OperationFamily.ATTENTION, Bottleneck.COMPUTE),
        (OperationFamily.ELEMENTWISE, Bottleneck.MEMORY),
        (OperationFamily.NORMALIZATION, Bottleneck.MEMORY),
        (OperationFamily.COPY, Bottleneck.MEMORY),
        (OperationFamily.REDUCTION, Bottleneck.MEMORY),
        (OperationFamily.EMBEDDING, Bottleneck.MEMORY),
        (OperationFamily.OPTIMIZER, Bottleneck.MEMORY),
        (OperationFamily.FUSION, Bottleneck.DEVICE),
        (OperationFamily.OTHER, Bottleneck.DEVICE),
        (OperationFamily.COMMUNICATION, Bottleneck.DEVICE),
    ],
)
def test_without_counts_the_family_is_an_estimate(make, family, expected):
    found_device_vote = vote(make, kernel(family=family))

    parts = () if expected is Bottleneck.DEVICE else (VotePart(expected, 1.0, VoteBasis.FAMILY),)
    assert (found_device_vote.bottleneck, found_device_vote.parts) == (Bottleneck.DEVICE, parts)


def test_kernels_vote_with_their_time(make):
    found_device_vote = vote(
        make,
        kernel("gemm", OperationFamily.GEMM, 6.0),
        kernel("add", OperationFamily.ELEMENTWISE, 3.0),
        kernel("x", OperationFamily.OTHER, 1.0),
    )

    assert found_device_vote.bottleneck is Bottleneck.DEVICE  # names alone name no bottleneck
    assert [(part.bottleneck, part.share) for part in found_device_vote.parts] == [
        (Bottleneck.COMPUTE, 0.6),
        (Bottleneck.MEMORY, 0.3),
    ]
    assert found_device_vote.reason == (
        "the kernels' time is bound 60 % by compute (kernel names), 30 % by memory (kernel names), "
        "10 % by an unknown limit"
    )


@pytest.mark.parametrize(("seconds", "expected"), [(1.0, "compute"), (0.99, "device")])
def test_less_than_half_of_the_time_is_no_majority(make, seconds, expected):
    found_device_vote = vote(
        make, intense(2.0, seconds=seconds), kernel("x", OperationFamily.OTHER, 1.0)
    )

    assert found_device_vote.bottleneck == expected


def test_transfers_and_collectives_have_no_vote(make):
    waits = make.operation("copy-done.4", 9.0, bucket=Bucket.COPY, path="jit_f")

    found_device_vote = vote(
        make,
        kernel("gemm", OperationFamily.GEMM, 1.0),
        kernel("copy-done.4", OperationFamily.COPY, 9.0),
        kernel("jit_f:copy-done.4", OperationFamily.COPY, 9.0),
        kernel("Memcpy HtoD (Pageable -> Device)", OperationFamily.COPY, 9.0),
        kernel("Memcpy PtoP (Device -> Device)", OperationFamily.COPY, 9.0),
        kernel("ncclKernel", OperationFamily.COMMUNICATION, 9.0),
        operations=(waits,),
    )

    assert found_device_vote.parts == (VotePart(Bottleneck.COMPUTE, 1.0, VoteBasis.FAMILY),)


def test_copies_within_the_device_and_memsets_are_memory_work(make):
    found_device_vote = vote(
        make,
        kernel("gemm", OperationFamily.GEMM, 1.0),
        kernel("Memcpy DtoD (Device -> Device)", OperationFamily.COPY, 8.0),
        kernel("Memset (Device)", OperationFamily.MEMSET, 1.0),
        operations=(
            make.operation("Memcpy DtoD (Device -> Device)", 8.0, bucket=Bucket.DEVICE_COPY),
            make.operation("Memset (Device)", 1.0, bucket=Bucket.MEMSET),
        ),
    )

    assert (found_device_vote.parts[0].bottleneck, found_device_vote.parts[0].share) == (
        Bottleneck.MEMORY,
        0.9,
    )


def test_no_kernels_say_nothing(make):
    assert vote(make).bottleneck is Bottleneck.DEVICE


@pytest.mark.parametrize(
    ("achieved", "detail"), [(0.79, BottleneckDetail.AT_ROOF), (0.77, BottleneckDetail.NONE)]
)
def test_at_the_roof_is_nine_tenths_of_what_is_achievable(make, achieved, detail):
    # 0.869 of the peak was measured on this device.
    gemm = kernel(family=OperationFamily.GEMM, flops=achieved * 312e12, bytes=1e11, is_tensor=True)

    assert vote(make, gemm).detail is detail


@pytest.mark.parametrize(
    ("achieved", "detail"), [(0.82, BottleneckDetail.AT_ROOF), (0.81, BottleneckDetail.NONE)]
)
def test_the_memorys_roof_is_what_stream_reaches(make, achieved, detail):
    add = kernel(family=OperationFamily.ELEMENTWISE, flops=1e9, bytes=achieved * 1555e9)

    assert vote(make, add).detail is detail


def test_without_facts_the_roof_is_what_the_best_known_program_reaches(make):
    device = ProfiledDevice(name="TPU", peak_flops=312e12, peak_bytes_per_second=1555e9)
    gemm = kernel(family=OperationFamily.GEMM, flops=0.79 * 312e12, bytes=1e11)

    found_device_vote = vote(make, gemm, device=device, hardware=None)

    assert (found_device_vote.bottleneck, found_device_vote.detail) == (
        Bottleneck.COMPUTE,
        BottleneckDetail.AT_ROOF,
    )


def test_a_roof_that_is_known_of_less_than_half_of_the_time_says_nothing(make):
    gemm = kernel(family=OperationFamily.GEMM, flops=0.85 * 312e12, bytes=1e11)
    other = kernel("other", OperationFamily.GEMM, 1.1)

    assert vote(make, gemm, other).detail is BottleneckDetail.NONE


@pytest.mark.parametrize(
    ("grid", "shared_memory_bytes", "detail"),
    [
        ("288,1,1", 205_696, BottleneckDetail.OCCUPANCY),  # 1.89 waves of 1 block
        ("152,1,1", 0, BottleneckDetail.TAIL),  # a fifth of one wave
        ("760,1,1", 0, BottleneckDetail.NONE),  # one whole wave
    ],
)
def test_latency_is_explained_by_the_launch(make, grid, shared_memory_bytes, detail):
    device = ProfiledDevice(name="B200", compute_capability="10.0", multiprocessors=152)
    launched = kernel(
        grid=grid, block="384,1,1", registers=32, shared_memory_bytes=shared_memory_bytes
    )
    readings = counters("k", compute_sol=0.2, memory_sol=0.2)

    found_device_vote = vote(make, launched, readings=readings, device=device)

    assert (found_device_vote.bottleneck, found_device_vote.detail) == (Bottleneck.LATENCY, detail)


@pytest.mark.parametrize(
    ("blocks", "registers", "detail"),
    [
        (972, 32, BottleneckDetail.TAIL),  # of 1216 places for blocks
        (973, 32, BottleneckDetail.NONE),
        (1216, 32, BottleneckDetail.NONE),
        (152 * 4, 64, BottleneckDetail.NONE),  # half of the warps
        (152 * 3, 65, BottleneckDetail.OCCUPANCY),
    ],
)
def test_tails_and_low_occupancy_have_their_marks(make, blocks, registers, detail):
    device = ProfiledDevice(name="B200", compute_capability="10.0", multiprocessors=152)
    launched = kernel(
        grid=f"{blocks},1,1", block="256,1,1", registers=registers, shared_memory_bytes=0
    )
    readings = counters("k", compute_sol=0.2, memory_sol=0.2)

    assert vote(make, launched, readings=readings, device=device).detail is detail


def test_latency_without_a_launch_has_no_detail(make):
    readings = counters("k", compute_sol=0.2, memory_sol=0.2)

    assert vote(make, kernel(), readings=readings).detail is BottleneckDetail.NONE
