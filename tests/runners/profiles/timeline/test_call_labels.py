import numpy as np
import pytest

from perfledger.profile import Bucket
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline import call_labels
from perfledger_profiles.timeline.call_labels import (
    check_lanes,
    label_calls,
    nest_threads,
    own_buckets,
)
from perfledger_profiles.timeline.intervals import NO_CALL
from perfledger_profiles.timeline.launch_links import launches_of

BUCKETS = tuple(Bucket)


def nested(columns):
    return nest_threads(columns, np.ones(columns.name.shape, dtype=np.bool_))


def labels_of(trace):
    columns = trace.columns()
    found_call_labels = label_calls(columns, nested(columns), launches_of(columns))
    return [found_call_labels.table[place] for place in found_call_labels.label.tolist()]


def test_calls_are_nested_thread_by_thread(trace):
    trace.add("outer", 0, 100).add("inner", 10, 20).add("other", 10, 20, thread=(1, 2))

    threads = nested(trace.columns())

    assert threads.parents.tolist() == [NO_CALL, 0, NO_CALL]
    assert threads.depth.tolist() == [0, 1, 0]


def test_a_kernel_has_the_path_and_the_shapes_of_the_operator_that_launched_it(trace):
    trace.add("model", 0, 100, cat="user_annotation")
    shapes = {"Input Dims": [[2, 3]], "Input type": ["float"]}
    trace.add("aten::mm", 10, 50, **shapes)
    trace.launch("cudaLaunchKernel", 20, 5, kernel="gemm", at=200, lasts=10, correlation=1)

    *_, kernel = labels_of(trace)

    assert (kernel.name, kernel.path) == ("gemm", "model/aten::mm")
    assert (kernel.bucket, kernel.shapes) == (Bucket.COMPUTE, "float[2,3]")


def test_what_a_loader_calls_is_input(trace):
    trace.add("enumerate(DataLoader)#_Iter", 0, 100).add("aten::stack", 10, 20)

    assert [label.bucket for label in labels_of(trace)] == [Bucket.INPUT, Bucket.INPUT]


@pytest.mark.parametrize(
    ("name", "category", "bucket"),
    [
        ("gemm", "kernel", Bucket.COMPUTE),
        ("ncclDevKernel_AllReduce", "kernel", Bucket.COMMUNICATION),
        ("Memcpy HtoD", "gpu_memcpy", Bucket.COPY),
        ("Memcpy DtoD (Device -> Device)", "gpu_memcpy", Bucket.DEVICE_COPY),
        ("Memcpy PtoP (Device -> Device)", "gpu_memcpy", Bucket.PEER_COPY),
        ("Memset (Device)", "gpu_memset", Bucket.MEMSET),
        ("cudaMemcpy", "cuda_runtime", Bucket.SYNC),
        ("hipMemcpyWithStream", "cuda_runtime", Bucket.SYNC),
        ("cudaMemcpyAsync", "cuda_runtime", Bucket.RUNTIME),
        ("cudaDeviceSynchronize", "cuda_runtime", Bucket.SYNC),
        ("cudaLaunchKernel", "cuda_runtime", Bucket.RUNTIME),
        ("aten::mm", "cpu_op", Bucket.CPU),
        ("gloo:all_reduce", "user_annotation", Bucket.COMMUNICATION),
    ],
)
def test_the_name_and_the_kind_give_the_bucket(trace, name, category, bucket):
    trace.add("k", 0, 1, cat="kernel", thread=(0, 7)).add(name, 0, 1, cat=category)

    buckets, _ = own_buckets(trace.columns())

    assert BUCKETS[buckets[-1]] is bucket


@pytest.mark.parametrize(
    ("copy", "bucket"),
    [
        ("Memcpy DtoH (Device -> Pageable)", Bucket.SYNC),
        ("Memcpy HtoD (Pageable -> Device)", Bucket.SYNC),
        ("Memcpy DtoH (Device -> Pinned)", Bucket.RUNTIME),
        ("Memcpy DtoH (Device -> Host)", Bucket.RUNTIME),
    ],
)
def test_an_asynchronous_copy_from_or_to_pageable_memory_waits(trace, copy, bucket):
    started = {"at": 50, "lasts": 10, "correlation": 1, "cat": "gpu_memcpy"}
    columns = trace.launch("cudaMemcpyAsync", 0, 60, kernel=copy, **started).columns()
    launched_by = launches_of(columns)

    labels = label_calls(columns, nest_threads(columns, columns.is_on_host), launched_by)

    assert BUCKETS[labels.bucket[0]] is bucket


def test_a_graph_that_contains_a_pageable_copy_is_launched_not_waited_for(trace):
    copy = {"kernel": "Memcpy HtoD (Pageable -> Device)", "cat": "gpu_memcpy", "correlation": 1}
    columns = trace.launch("cudaGraphLaunch", 0, 5, at=50, lasts=10, **copy).columns()
    launched_by = launches_of(columns)

    labels = label_calls(columns, nest_threads(columns, columns.is_on_host), launched_by)

    assert BUCKETS[labels.bucket[0]] is Bucket.RUNTIME


def test_without_a_device_operators_compute(trace):
    buckets, is_annotation = own_buckets(trace.add("aten::mm", 0, 1).columns())

    assert BUCKETS[buckets[0]] is Bucket.COMPUTE
    assert not is_annotation[0]


def test_more_threads_than_any_profiler_writes_are_refused(trace, monkeypatch):
    monkeypatch.setattr(call_labels, "MAX_LANES", 1)
    trace.add("a", 0, 1).add("b", 0, 1, thread=(1, 2))

    with pytest.raises(ProfileError, match="more than 1 threads and streams"):
        check_lanes(trace.columns())


def test_the_operators_of_a_compiler_do_not_compute(trace):
    trace.add("OutputGraph.call_user_compiler (dynamo_timed)", 0, 50).add("aten::mul", 10, 20)
    trace.add("aten::mul", 60, 20)

    assert [label.bucket for label in labels_of(trace)] == [Bucket.CPU, Bucket.CPU, Bucket.COMPUTE]


def test_a_launch_that_takes_over_a_millisecond_is_listed_apart(trace):
    for number, (begin, lasts) in enumerate(((0, 10), (100, 1000), (2000, 1001)), start=1):
        at = begin + lasts
        trace.launch(
            "cudaLaunchKernel", begin, lasts, kernel="k", at=at, lasts=1, correlation=number
        )
    trace.add("cudaMalloc", 4000, 2000, cat="cuda_runtime")

    names = [label.name for label in labels_of(trace)]

    assert [name for name in names if name.startswith("cuda")] == [
        "cudaLaunchKernel",
        "cudaLaunchKernel",
        "cudaLaunchKernel (over 1 ms)",
        "cudaMalloc",
    ]
