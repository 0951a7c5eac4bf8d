import json

import pytest

from perfledger_profiles.timeline.matmuls import MAX_PRODUCTS, Matmul, matmul_of

A100 = {
    "id": 0,
    "name": "NVIDIA A100-SXM4-40GB",
    "totalGlobalMem": 42505273344,
    "computeMajor": 8,
    "computeMinor": 0,
    "numSms": 108,
}
SHAPES = "float[8192,1024] float[1024,2048]"
FLOPS = 2 * 8192 * 1024 * 2048
BYTES = 4 * (8192 * 1024 + 1024 * 2048 + 8192 * 2048)


def read(name, dims, types):
    return matmul_of(name, json.dumps(dims).encode(), json.dumps(types).encode())


@pytest.fixture
def multiply(trace):
    """Return a function that adds a product and the kernels that it launches, 10 us each."""
    trace.header = {"deviceProperties": [A100]}
    trace.step(1, 0, 10_000)
    count = 0

    def multiply(*kernels, rows=8192, kind="float"):
        nonlocal count
        begin = 100 * count
        dims = {"Input Dims": [[rows, 1024], [1024, 2048]], "Input type": [kind, kind]}
        trace.add("aten::mm", begin, 50, **dims)
        for kernel in kernels:
            count += 1
            trace.launch(
                "cudaLaunchKernel",
                begin + count % 40,
                0.5,
                kernel=kernel,
                at=5000 + 20 * count,
                lasts=10,
                correlation=count,
            )
        return trace

    return multiply


def readings(trace):
    names = ("achieved_flops", "arithmetic_intensity", "roofline_attained")
    return {
        (one.name, one.subject): one.value for one in trace.read().readings if one.name in names
    }


@pytest.mark.parametrize(
    ("name", "dims", "product"),
    [
        ("aten::mm", [[2, 3], [3, 5]], Matmul(60.0, 4.0 * (6 + 15 + 10), "float")),
        ("aten::addmm", [[5], [2, 3], [3, 5], []], Matmul(60.0, 4.0 * (6 + 15 + 10), "float")),
        ("aten::bmm", [[7, 2, 3], [7, 3, 5]], Matmul(420.0, 4.0 * 7 * (6 + 15 + 10), "float")),
        ("aten::mul", [[2, 3], [3, 5]], None),
        ("aten::mm", [[2, 3], [4, 5]], None),
        ("aten::mm", [[2, 3], [3, 5, 1]], None),
        ("aten::bmm", [[7, 2, 3], [6, 3, 5]], None),
        ("aten::mm", [[0, 3], [3, 5]], None),
        ("aten::mm", [[10**40, 3], [3, 5]], None),
        ("aten::mm", [["x", 3], [3, 5]], None),
        ("aten::mm", [], None),
    ],
)
def test_what_a_product_computes_follows_from_its_shapes(name, dims, product):
    assert read(name, dims, ["float"] * len(dims)) == product


@pytest.mark.parametrize("types", [["float", "c10::Half"], ["int", "int"], ["float"], "float"])
def test_other_types_tell_nothing(types):
    assert read("aten::mm", [[2, 3], [3, 5]], types) is None


def test_a_product_has_its_rate_its_intensity_and_its_share_of_the_roof(multiply):
    subject = f"aten::mm {SHAPES}"

    assert readings(multiply("ampere_sgemm_128x64_tn")) == {
        ("achieved_flops", subject): pytest.approx(FLOPS / 10e-6),
        ("arithmetic_intensity", subject): pytest.approx(FLOPS / BYTES),
        ("roofline_attained", subject): pytest.approx(FLOPS / 10e-6 / 19.5e12),
    }


@pytest.mark.parametrize(
    ("kernel", "kind", "peak"),
    [
        ("cutlass_80_tensorop_s1688gemm_64x64", "float", 156e12),
        ("ampere_fp16_s16816gemm_fp16_64x64", "c10::Half", 312e12),
        ("ampere_bf16_s16816gemm_bf16_64x64", "c10::BFloat16", 312e12),
    ],
)
def test_the_roof_is_that_of_the_type(multiply, kernel, kind, peak):
    attained = [
        v for (name, _), v in readings(multiply(kernel, kind=kind)).items() if "roof" in name
    ]

    assert attained == [pytest.approx(FLOPS / 10e-6 / peak)]


def test_where_tensor_cores_are_not_told_there_is_no_share_of_a_roof(multiply):
    names = {name for name, _ in readings(multiply("mystery_gemm_kernel"))}

    assert names == {"achieved_flops", "arithmetic_intensity"}


def test_a_product_that_is_split_takes_as_long_as_its_parts_and_their_sum(multiply):
    tensor = "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_nn_align4>()"
    multiply(tensor, "void splitKreduce_kernel<float, float, float, float>()")

    read = readings(multiply(tensor))

    assert read[("achieved_flops", f"aten::mm {SHAPES}")] == pytest.approx(FLOPS / 15e-6)
    assert read[("roofline_attained", f"aten::mm {SHAPES}")] == pytest.approx(
        FLOPS / 15e-6 / 156e12
    )


def test_the_longest_are_told(multiply):
    traces = [multiply("ampere_sgemm_128x64_tn", rows=n + 1) for n in range(MAX_PRODUCTS + 2)]

    assert len(readings(traces[-1])) == 3 * MAX_PRODUCTS


# c10::elementSize of c10::ScalarType.
SIZES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("aten::mm", [[2, 3], [3, 5]]),
        ("aten::addmm", [[5], [2, 3], [3, 5]]),
        ("aten::bmm", [[1, 2, 3], [1, 3, 5]]),
        ("aten::baddbmm", [[1, 2, 5], [1, 2, 3], [1, 3, 5]]),
    ],
)
def test_the_bytes_of_a_product_are_those_of_its_elements(kind, name, dims):
    """What is added to it comes first, and is not counted."""
    product = read(name, dims, [kind] * len(dims))

    assert product == Matmul(60.0, float(SIZES[kind] * (6 + 15 + 10)), kind)


@pytest.mark.parametrize(("side", "is_product"), [(1, True), (2**40, True), (2**40 + 1, False)])
def test_a_side_is_of_one_to_a_tebi(side, is_product):
    assert (read("aten::mm", [[side, 1], [1, 1]], ["float"] * 2) is not None) is is_product
