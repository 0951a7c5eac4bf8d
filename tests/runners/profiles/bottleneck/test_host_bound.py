from dataclasses import replace

import pytest

from perfledger.profile import Bucket, Kernel, OperationFamily, StreamIdle
from perfledger_profiles.bottleneck.classification import BottleneckDetail
from perfledger_profiles.bottleneck.host_bound import (
    host_detail,
    host_kind,
    is_around_launches,
    is_capturing,
    is_launch_bound,
)


def kernels(*microseconds):
    return tuple(
        Kernel(name=f"k{n}", family=OperationFamily.OTHER, seconds=us / 1e6, count=1.0)
        for n, us in enumerate(microseconds)
    )


def stream(name, *, busy, host=0.0, kernel=0.0, other=0.0):
    return StreamIdle(
        stream=name,
        busy_seconds=busy,
        host_wait_seconds=host,
        kernel_wait_seconds=kernel,
        other_seconds=other,
    )


@pytest.mark.parametrize(
    ("name", "bucket", "path", "kind"),
    [
        ("(compiling) f", Bucket.RUNTIME, "", BottleneckDetail.COMPILE),
        ("(tracing) f", Bucket.RUNTIME, "", BottleneckDetail.COMPILE),
        ("_compile.compile_inner (dynamo_timed)", Bucket.CPU, "", BottleneckDetail.COMPILE),
        ("aten::empty", Bucket.CPU, "compile_fx_inner (dynamo_timed)", BottleneckDetail.COMPILE),
        ("cudaStreamSynchronize", Bucket.SYNC, "", BottleneckDetail.SYNC),
        (
            "cudaMemcpyAsync",
            Bucket.RUNTIME,
            "aten::item/aten::_local_scalar_dense",
            BottleneckDetail.SYNC,
        ),
        ("aten::nonzero", Bucket.CPU, "", BottleneckDetail.SYNC),
        ("hipMemcpyWithStream", Bucket.SYNC, "aten::copy_", BottleneckDetail.BLOCKING_COPY),
        ("cudaMemcpyAsync", Bucket.SYNC, "aten::copy_", BottleneckDetail.BLOCKING_COPY),
        ("cudaMemcpyAsync", Bucket.SYNC, "aten::item", BottleneckDetail.SYNC),
        ("cudaLaunchKernel", Bucket.RUNTIME, "aten::mm", BottleneckDetail.LAUNCH),
        ("cudaGraphLaunch", Bucket.RUNTIME, "", BottleneckDetail.LAUNCH),
        ("cudaLaunchKernel (over 1 ms)", Bucket.RUNTIME, "", BottleneckDetail.START_UP),
        ("## Call CompiledFxGraph fp5r5pk ##", Bucket.CPU, "", BottleneckDetail.LAUNCH),
        ("Torch-Compiled Region: 0/0", Bucket.CPU, "", BottleneckDetail.LAUNCH),
        ("## forward ##", Bucket.CPU, "", BottleneckDetail.PYTHON),
        ("hipLaunchKernel", Bucket.RUNTIME, "", BottleneckDetail.LAUNCH),
        ("PjitFunction(step)", Bucket.RUNTIME, "", BottleneckDetail.LAUNCH),
        ("cudaHostAlloc", Bucket.RUNTIME, "", BottleneckDetail.NONE),
        ("aten::mm", Bucket.CPU, "", BottleneckDetail.OPERATORS),
        ("AddmmBackward0", Bucket.CPU, "", BottleneckDetail.OPERATORS),
        ("Optimizer.step#SGD.step", Bucket.CPU, "", BottleneckDetail.PYTHON),
        ("(outside operations)", Bucket.OTHER, "", BottleneckDetail.PYTHON),
        ("(other operations)", Bucket.CPU, "", BottleneckDetail.NONE),
        ("gemm", Bucket.COMPUTE, "", None),
        ("load", Bucket.INPUT, "", None),
    ],
)
def test_the_hosts_time_is_told_apart(make, name, bucket, path, kind):
    assert host_kind(make.operation(name, 1e-4, bucket=bucket, path=path)) is kind


@pytest.mark.parametrize(
    ("name", "milliseconds", "kind"),
    [
        ("hipLaunchKernel", 1.0, BottleneckDetail.LAUNCH),
        ("cuLaunchKernel", 1.1, BottleneckDetail.START_UP),
        ("cudaGraphLaunch", 9.0, BottleneckDetail.LAUNCH),
        ("cudaMalloc", 10.0, BottleneckDetail.NONE),
        ("cudaFree", 10.1, BottleneckDetail.START_UP),
        ("cudaStreamCreateWithFlags", 29.0, BottleneckDetail.START_UP),
        ("cudaHostAlloc", 99.0, BottleneckDetail.NONE),
    ],
)
def test_calls_that_take_much_longer_than_usual_are_the_first(make, name, milliseconds, kind):
    calls = make.operation(name, 4 * milliseconds / 1e3, 4.0, bucket=Bucket.RUNTIME)

    assert host_kind(calls) is kind


def test_a_step_that_makes_a_graph_is_told_apart(make):
    begins = make.operation("hipStreamBeginCapture", 1e-5, bucket=Bucket.RUNTIME)

    assert is_capturing(make.profile(begins))
    assert not is_capturing(make.profile(make.operation("cudaGraphLaunch", 1e-5)))


def test_a_call_with_inputs_is_an_operator_whatever_its_name(make):
    custom = make.operation("SortTokens", 1.0, bucket=Bucket.CPU)

    assert host_kind(custom) is BottleneckDetail.PYTHON
    assert host_kind(replace(custom, shapes="Half[8,4]")) is BottleneckDetail.OPERATORS


def test_what_takes_the_most_is_the_detail(make):
    profile = make.profile(
        make.operation("aten::mm", 2.0, bucket=Bucket.CPU),
        make.operation("(outside operations)", 3.0, bucket=Bucket.OTHER),
        make.operation("gemm", 9.0),
    )

    assert host_detail(profile) is BottleneckDetail.PYTHON


@pytest.mark.parametrize(
    ("tool", "path", "detail"),
    [
        ("torch.profiler", "", BottleneckDetail.PYTHON),
        ("nsys", "", BottleneckDetail.NONE),
        ("rocprof", "", BottleneckDetail.NONE),
        ("nsys", "forward/aten::mm", BottleneckDetail.PYTHON),
    ],
)
def test_code_between_calls_is_python_only_where_the_file_shows_it(make, tool, path, detail):
    profile = make.profile(
        make.operation("(outside operations)", 3.0, bucket=Bucket.OTHER),
        make.operation("gemm", 9.0, path=path),
    )

    assert host_detail(replace(profile, tool=tool)) is detail


def test_code_between_calls_of_a_program_that_is_not_in_python_is_no_launching(make):
    outside = make.operation("(outside operations)", 3e-3, bucket=Bucket.OTHER)
    profile = replace(make.profile(outside), kernels=kernels(5, 5, 500), tool="nsys")

    assert host_detail(profile) is BottleneckDetail.NONE


def test_a_blocking_copy_is_no_launch_however_short_the_kernels(make):
    profile = replace(
        make.profile(
            make.operation("hipMemcpyWithStream", 463.0, bucket=Bucket.SYNC),
            make.operation("hipLaunchKernel", 2.0, bucket=Bucket.RUNTIME),
        ),
        kernels=kernels(3, 3, 4),
    )

    assert host_detail(profile) is BottleneckDetail.BLOCKING_COPY


def test_short_kernels_make_it_launching(make):
    outside = make.operation("(outside operations)", 3e-3, bucket=Bucket.OTHER)
    profile = replace(make.profile(outside), kernels=kernels(5, 5, 500))

    assert host_detail(profile) is BottleneckDetail.LAUNCH


def test_more_than_a_millisecond_around_each_launch_is_not_launching(make):
    outside = make.operation("(outside operations)", 3.1e-3, bucket=Bucket.OTHER)
    profile = replace(make.profile(outside), kernels=kernels(5, 5, 500))

    assert host_detail(profile) is BottleneckDetail.PYTHON


@pytest.mark.parametrize(
    ("name", "bucket", "detail"),
    [
        ("(compiling) f", Bucket.RUNTIME, BottleneckDetail.COMPILE),
        ("cudaDeviceSynchronize", Bucket.SYNC, BottleneckDetail.SYNC),
    ],
)
def test_compiling_and_waiting_stay_what_they_are(make, name, bucket, detail):
    profile = replace(make.profile(make.operation(name, 3.0, bucket=bucket)), kernels=kernels(5, 5))

    assert host_detail(profile) is detail


def test_a_host_that_took_no_time_has_no_detail(make):
    assert host_detail(make.profile(make.operation("gemm", 1.0))) is BottleneckDetail.NONE


@pytest.mark.parametrize(
    ("microseconds", "is_bound"),
    [((9.9, 9.9, 99), True), ((9.9, 99), False), ((10, 10, 10), False), ((), False)],
)
def test_the_median_kernel_has_to_be_below_10_microseconds(make, microseconds, is_bound):
    profile = replace(make.profile(), kernels=kernels(*microseconds))

    assert is_launch_bound(profile) is is_bound


def test_a_kernel_counts_as_often_as_it_is_launched(make):
    short = Kernel(name="s", family=OperationFamily.OTHER, seconds=50e-6, count=10.0)
    long = Kernel(name="l", family=OperationFamily.OTHER, seconds=900e-6, count=9.0)

    assert is_launch_bound(replace(make.profile(), kernels=(short, long)))


@pytest.mark.parametrize(("launch_us", "is_bound"), [(21.0, True), (20.0, False)])
def test_kernels_that_are_shorter_than_their_launch_are_bound_by_it(make, launch_us, is_bound):
    launch = make.operation("cudaLaunchKernel", 3 * launch_us * 1e-6, 3.0, bucket=Bucket.RUNTIME)
    profile = replace(make.profile(launch), kernels=kernels(20, 20, 99))

    assert is_launch_bound(profile) is is_bound


@pytest.mark.parametrize(
    ("streams", "is_bound"),
    [
        ((stream("7", busy=1.0, host=2.0, kernel=1.0, other=0.5),), True),
        ((stream("7", busy=1.0, host=1.5, kernel=1.0, other=0.5),), False),
        ((stream("7", busy=1.0, kernel=1.0), stream("20", busy=0.5, host=9.0)), False),
    ],
)
def test_the_busiest_stream_has_to_wait_for_the_host(make, streams, is_bound):
    profile = replace(make.profile(), kernels=kernels(1, 1, 1), streams=streams)

    assert is_launch_bound(profile) is is_bound


def test_a_single_short_kernel_is_bound_by_its_launch(make):
    short, long = (replace(make.profile(), kernels=kernels(us)) for us in (5, 50))

    assert is_launch_bound(short)
    assert not is_launch_bound(long)
    assert not is_launch_bound(make.profile())


def test_a_kernel_that_is_shorter_than_its_only_launch_is_bound_by_it(make):
    """20 us are longer than a short kernel's 10."""
    launch = make.operation("cudaLaunchKernel", 30e-6, bucket=Bucket.RUNTIME)
    profile = replace(make.profile(launch), kernels=kernels(20))

    assert is_launch_bound(profile)
    quick = replace(launch, seconds=15e-6)
    assert not is_launch_bound(replace(profile, operations=(quick,)))


def test_a_single_launch_of_seconds_loads_code(make):
    launch = make.operation("cudaLaunchKernel", 2.0, count=1.0, bucket=Bucket.RUNTIME)

    assert host_kind(launch) is BottleneckDetail.START_UP


def test_an_operator_of_milliseconds_is_not_around_launches(make):
    """It waits, allocates or loads code: no graph of launches makes it shorter."""
    waits = make.operation("aten::empty", 2.2e-3, bucket=Bucket.CPU)
    launch = make.operation("cudaLaunchKernel", 35e-6, bucket=Bucket.RUNTIME)
    profile = replace(make.profile(waits, launch), kernels=kernels(2, 3))

    assert not is_around_launches(waits)
    assert is_around_launches(launch)
    assert host_detail(profile) is BottleneckDetail.OPERATORS


def test_a_jitted_call_of_milliseconds_does_more_than_launch(make):
    quick = make.operation("PjitFunction(f)", 6e-3, count=6.0, bucket=Bucket.RUNTIME)

    assert host_kind(quick) is BottleneckDetail.LAUNCH
    assert host_kind(replace(quick, seconds=6.1e-3)) is BottleneckDetail.NONE


def test_a_first_call_that_began_before_the_step_is_a_first_call(make):
    """The step is the device's window, and the launch that loads the code began before it."""
    launch = make.operation("cudaLaunchKernel (over 1 ms)", 1.4e-3, 0, bucket=Bucket.RUNTIME)
    profile = replace(
        make.profile(launch, make.operation("gemm", 15e-6)), kernels=kernels(15.0, 6.0, 5.0)
    )

    assert host_detail(profile) is BottleneckDetail.START_UP
