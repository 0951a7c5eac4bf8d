import pytest

from perfledger.profile import Kernel, OperationFamily
from perfledger_profiles.timeline.kernel_table import MAX_KERNELS, kernel_rows, tensor_share

SHAPE = {"block": [128, 1, 1], "registers per thread": 90, "shared memory": 49152}


def rows(trace, steps=1):
    columns = trace.columns()
    return kernel_rows(columns, columns.is_device_work, steps=steps)


def kernel(name, seconds, *, is_tensor, family=OperationFamily.GEMM):
    return Kernel(name=name, family=family, seconds=seconds, count=1, is_tensor=is_tensor)


def test_rows_differ_by_name_and_launch_shape_and_are_per_step(trace):
    for at, grid in ((0, [64, 1, 1]), (10, [64, 1, 1]), (20, [8, 1, 1])):
        trace.add("volta_sgemm_128x64_nt", at, 4, cat="kernel", grid=grid, **SHAPE)

    kernels = rows(trace, steps=2)

    assert kernels == (
        Kernel(
            name="volta_sgemm_128x64_nt",
            family=OperationFamily.GEMM,
            seconds=4e-6,
            count=1.0,
            grid="64,1,1",
            block="128,1,1",
            registers=90,
            shared_memory_bytes=49152,
            is_tensor=False,
        ),
        Kernel(
            name="volta_sgemm_128x64_nt",
            family=OperationFamily.GEMM,
            seconds=2e-6,
            count=0.5,
            grid="8,1,1",
            block="128,1,1",
            registers=90,
            shared_memory_bytes=49152,
            is_tensor=False,
        ),
    )


def test_names_that_are_one_when_cleaned_share_a_row(trace):
    for at, name in ((0, "/home/ann/a.py:f"), (10, "/home/bob/a.py:f")):
        trace.add(name, at, 4, cat="kernel", grid=[1, 1, 1])

    assert [(row.name, row.count) for row in rows(trace)] == [("~/a.py:f", 2.0)]


def test_copies_and_memsets_have_rows_with_their_bytes(trace):
    for at in (0, 10):
        trace.add("Memcpy HtoD", at, 4, cat="gpu_memcpy", bytes=100)
    trace.add("Memset", 20, 1, cat="gpu_memset")

    assert [(row.family, row.bytes) for row in rows(trace)] == [
        (OperationFamily.COPY, 200.0),
        (OperationFamily.MEMSET, None),
    ]


def test_only_the_longest_kernels_have_a_row(trace):
    for number in range(MAX_KERNELS + 5):
        trace.add(f"k{number}", 0, 1 + number, cat="kernel")

    kernels = rows(trace)

    assert len(kernels) == MAX_KERNELS
    assert kernels[0].name == f"k{MAX_KERNELS + 4}"


def test_the_rows_of_a_kernel_sum_to_all_of_its_calls(trace):
    for number in range(MAX_KERNELS + 5):
        trace.add("k", 0, 1 + number, cat="kernel", grid=[1 + number, 1, 1], block=[1, 1, 1])

    kernels = rows(trace)

    assert sum(row.count for row in kernels) == MAX_KERNELS + 5
    (rest,) = [row for row in kernels if not row.grid]
    assert rest.count == 5
    assert rest.occupancy is None


def test_the_share_of_tensor_cores_is_of_the_kernels_that_compute():
    found_tensor_share = tensor_share(
        [
            kernel("a", 3.0, is_tensor=True),
            kernel("b", 1.0, is_tensor=False),
            kernel("nccl", 9.0, is_tensor=False, family=OperationFamily.COMMUNICATION),
        ]
    )

    assert found_tensor_share == pytest.approx(0.75)


def test_where_names_do_not_tell_there_is_no_share_of_tensor_cores():
    known_kernel, unknown = kernel("a", 79.0, is_tensor=True), kernel("b", 21.0, is_tensor=None)

    assert tensor_share([known_kernel, unknown]) is None
    assert tensor_share([kernel("a", 80.0, is_tensor=True), kernel("b", 20.0, is_tensor=None)])
    assert tensor_share([]) is None


def test_bytes_that_are_told_of_some_copies_only_are_not_those_of_all(trace):
    trace.add("Memcpy HtoD", 0, 4, cat="gpu_memcpy", bytes=100)
    trace.add("Memcpy HtoD", 10, 4, cat="gpu_memcpy")

    assert [row.bytes for row in rows(trace)] == [None]


def test_only_the_innermost_operator_that_could_use_tensor_cores_counts(trace):
    trace.step(0, 0, 1000).add("aten::linear", 0, 500).add("aten::addmm", 200, 200)
    for number, (at, lasts) in enumerate(((10, 30), (210, 50), (600, 20))):
        trace.launch(
            "cudaLaunchKernel", at, 5, kernel="k", at=at + 8, lasts=lasts, correlation=number + 1
        )

    content = trace.read()

    assert content.reading("tc_eligible") == pytest.approx(50 / 100)


@pytest.mark.parametrize("operator", ["aten::convolution_backward", "aten::miopen_convolution"])
def test_a_convolution_and_its_backward_could_use_tensor_cores(trace, operator):
    trace.step(0, 0, 100).add(operator, 0, 50)
    trace.launch("hipLaunchKernel", 10, 5, kernel="k", at=18, lasts=30, correlation=1)

    assert trace.read().reading("tc_eligible") == pytest.approx(1.0)


def test_an_operator_that_launched_a_tensor_core_kernel_could_use_them(trace):
    trace.step(0, 0, 1000).add("mine::attention", 0, 500)
    for number, kernel in enumerate(("ampere_h16816gemm", "relu", "elsewhere")):
        begin = 10 if kernel != "elsewhere" else 600
        trace.launch(
            "cudaLaunchKernel",
            begin + 10 * number,
            5,
            kernel=kernel,
            at=700 + 40 * number,
            lasts=40,
            correlation=number + 1,
        )

    content = trace.read()

    assert content.reading("tc_eligible") == pytest.approx(2 / 3)


def test_without_operators_nothing_is_known_of_what_could_use_tensor_cores(trace):
    trace.launch("cudaLaunchKernel", 10, 5, kernel="gemm", at=20, lasts=40, correlation=1)

    assert trace.read().reading("tc_eligible") is None


def test_the_operator_that_runs_a_graph_says_nothing_about_its_kernels(trace):
    trace.step(0, 0, 100).add("CompiledFunction", 0, 50)
    trace.launch("cudaGraphLaunch", 10, 5, kernel="ampere_sgemm", at=18, lasts=30, correlation=1)

    assert trace.read().reading("tc_eligible") is None
