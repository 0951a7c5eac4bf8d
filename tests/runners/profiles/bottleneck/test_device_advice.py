"""The triggers of advice on the device, in profiles of a few operations."""

from dataclasses import replace

import pytest

from perfledger.profile import (
    Bucket,
    OperationFamily,
    ProfiledDevice,
)
from perfledger_profiles.bottleneck import device_advice
from perfledger_profiles.hardware.device_lookup import match_hardware
from tests.runners.profiles.bottleneck.example_steps import advice, kernel, op, step, texts

V100 = match_hardware("Tesla V100-SXM2-16GB").hardware


@pytest.mark.parametrize(
    ("operation", "more", "text"),
    [
        (op("add", 0.10), {"family": OperationFamily.ELEMENTWISE}, "FUSE"),
        (op("copy_kernel", 0.05, path="aten::contiguous/aten::copy_"), {}, "CONTIGUOUS"),
        (op("gemm", 0.05), {"family": OperationFamily.GEMM, "is_tensor": False}, "TENSOR_CORES"),
        (op("gemm", 0.01, shapes="double[8,8]"), {}, "FLOAT64"),
        (op("gemm", 0.05, path="aten::mm", shapes="c10::Half[8,7] c10::Half[7,8]"), {}, "X8"),
        # GPT-2's vocabulary of 50,257, as the output size and as the inner size.
        (op("gemm", 0.05, path="aten::mm", shapes="Half[1024,768] Half[768,50257]"), {}, "X8"),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[1024,50257] Half[50257,768]"), {}, "X8"),
        (op("small", 0.05), {"blocks_per_multiprocessor": 0.79}, "MORE_BLOCKS"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_trigger_on_the_device_asks_for_its_advice(operation, more, text):
    found_texts = texts(step(operation, kernels=(kernel(operation.name, **more),)))

    assert found_texts == [getattr(device_advice, "MULTIPLE_OF_8" if text == "X8" else text).text]


@pytest.mark.parametrize("hardware", [None, V100])
@pytest.mark.parametrize(
    ("operation", "more"),
    [
        (op("gemm", 0.05), {"family": OperationFamily.GEMM, "is_tensor": False}),
        (op("gemm", 0.05, shapes="double[8,8]"), {}),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[8,7] Half[7,8]"), {}),
    ],
)
def test_work_that_could_take_half_the_time_saves_half_of_its_share(operation, more, hardware):
    [found_advice] = advice(step(operation, kernels=(kernel("gemm", **more),)), hardware=hardware)

    assert "half the time" in found_advice.assumption
    assert found_advice.saved_share == pytest.approx(found_advice.share / 2)


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        (op("add", 0.099), {"family": OperationFamily.ELEMENTWISE}),
        (op("gemm", 0.05), {"family": OperationFamily.GEMM, "is_tensor": None}),
        (op("gemm", 0.05), {"family": OperationFamily.GEMM, "is_tensor": True}),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[16,8] Half[8,32]"), {}),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[16,8] Half[8,1]"), {}),
        (op("gemm", 0.05, path="aten::mm", shapes="float[7,7]"), {}),
        # Only M is odd: ViT's 197 tokens on an H100, a BERT of 11 tokens on an MI300X.
        (op("nvjet", 0.05, path="aten::addmm", shapes="Half[768] Half[197,768] Half[768,768]"), {}),
        (op("Cijk", 0.05, path="aten::addmm", shapes="Half[512] Half[11,512] Half[512,512]"), {}),
        (
            op(
                "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8",
                0.05,
                path="aten::addmm",
                shapes="BFloat16[2] BFloat16[1,768] BFloat16[768,2]",
            ),
            {},
        ),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[,] Half[]"), {}),
        # A persistent kernel of a Hopper: 120 blocks for 132 multiprocessors.
        (op("sm90_xmma_gemm", 0.25), {"blocks_per_multiprocessor": 0.91}),
        (op("Memcpy", 0.04, Bucket.COPY), {"blocks_per_multiprocessor": 0.1}),
    ],
)
def test_a_device_that_gives_no_reason_gets_no_advice(operation, more):
    assert texts(step(operation, kernels=(kernel(operation.name, **more),))) == []


def test_what_xla_made_is_fused_already():
    add = step(
        op("add", 0.5), kernels=(kernel("add", OperationFamily.ELEMENTWISE),), tool="jax.profiler"
    )

    assert texts(add) == []


def test_attention_in_parts_asks_for_the_fused_one():
    parts = (
        op("gemm", 0.1, path="aten::matmul/aten::bmm"),
        op("softmax", 0.1, path="aten::softmax/aten::_softmax"),
    )
    fused = op("flash_fwd_kernel", 0.1, path="aten::scaled_dot_product_attention")

    assert texts(step(*parts)) == [device_advice.ATTENTION.text]
    assert texts(step(*parts, fused)) == []
    assert texts(step(parts[0])) == []
    assert texts(step(*(replace(part, seconds=0.004) for part in parts))) == []


def test_launches_of_other_shapes_of_one_name_do_not_count():
    few = kernel("batch_norm", seconds=0.02, blocks_per_multiprocessor=0.5)
    many = kernel("batch_norm", seconds=0.06, blocks_per_multiprocessor=4.0)

    assert texts(step(op("batch_norm", 0.08), kernels=(few, many))) == []

    (found_advice,) = advice(step(op("batch_norm", 0.24), kernels=(few, many)))

    assert found_advice.share == pytest.approx(0.06)
    assert found_advice.saved_share == pytest.approx(0.03)
    assert found_advice.trigger == (
        "6 % of the step is kernels with blocks for less than 80 % of the multiprocessors; 1 call"
    )


def test_the_hosts_float64_costs_no_more_than_float32():
    on_host = op("aten::add_", 0.2, Bucket.CPU, shapes="double[1] float[1]")

    assert device_advice.FLOAT64.text not in texts(step(on_host))


@pytest.mark.parametrize("name", ["AMD Instinct MI300X", "AMD"])
def test_amds_devices_are_no_generation_of_nvidias(name):
    gemm = kernel("Cijk", OperationFamily.GEMM, is_tensor=False)
    odd = op("Cijk", 0.5, path="aten::mm", shapes="Half[8,7] Half[7,8]")
    profile = step(odd, kernels=(gemm,), device=ProfiledDevice(name=name, multiprocessors=304))

    assert texts(profile) == []


def test_a_device_without_tf32_is_not_told_to_use_it():
    profile = step(
        op("gemm", 0.5), kernels=(kernel("gemm", OperationFamily.GEMM, is_tensor=False),)
    )

    assert texts(profile, hardware=V100) == [device_advice.TENSOR_CORES_HALF.text]


@pytest.mark.parametrize(
    ("capability", "cores"),
    [
        ("6.0", []),
        ("7.5", [device_advice.TENSOR_CORES_HALF.text]),
        ("12.0", [device_advice.TENSOR_CORES.text]),
    ],
)
def test_a_device_without_facts_is_told_what_its_capability_has(capability, cores):
    profile = step(
        op("gemm", 0.5), kernels=(kernel("gemm", OperationFamily.GEMM, is_tensor=False),)
    )
    stated = ProfiledDevice(name="NVIDIA Z9000", compute_capability=capability)

    assert texts(replace(profile, device=stated)) == cores


@pytest.mark.parametrize("name", ["gemv2T_kernel_val<int, int, __nv_bfloat16>", "gemvx::kernel"])
def test_a_product_with_a_vector_gains_nothing_by_tensor_cores(name):
    more = {"family": OperationFamily.GEMM, "is_tensor": False}

    assert texts(step(op(name, 0.9), kernels=(kernel(name, **more),))) == []
