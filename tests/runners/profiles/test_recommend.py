"""Which evidence asks for which advice; the profiles are made of bare operations."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.profile import (
    Bucket,
    Family,
    Kernel,
    Operation,
    Profile,
    ProfiledDevice,
    Reading,
)
from perfledger.records import Side
from perfledger_profiles import device_advice, host_advice
from perfledger_profiles.bottleneck import Bottleneck, Detail
from perfledger_profiles.classify import classify
from perfledger_profiles.hardware import find_hardware
from perfledger_profiles.recommend import recommend

A100 = ProfiledDevice(name="A100", compute_capability="8.0", multiprocessors=108)
V100 = find_hardware("Tesla V100-SXM2-16GB", None)


def op(name, seconds, bucket=Bucket.COMPUTE, *, path="", shapes="", count=1.0):
    return Operation(
        name=name, bucket=bucket, seconds=seconds, count=count, path=path, shapes=shapes
    )


def kernel(name, family=Family.OTHER, seconds=1.0, **more):
    return Kernel(name=name, family=family, seconds=seconds, **{"count": 1.0, **more})


def step(*operations, tool="torch.profiler", device=A100, kernels=(), readings=()):
    """Return a step of one second: what the operations leave is one matrix product."""
    rest = 1 - sum(operation.seconds for operation in operations)
    return Profile(
        workload="m:f",
        side=Side.HEAD,
        tool=tool,
        steps=4,
        step_seconds=1.0,
        operations=(*operations, op("sgemm", rest)),
        device=device,
        kernels=kernels,
        readings=readings,
    )


def advice(profile, **more):
    return recommend(profile, classify(profile), **more)


def texts(profile, **more):
    return [found.text for found in advice(profile, **more)]


def test_without_a_trigger_there_is_nothing_to_say():
    assert advice(step()) == ()


def test_advice_has_its_evidence_and_amdahls_bound():
    (found,) = advice(step(op("enumerate(DataLoader)#x", 0.331, Bucket.INPUT)))

    assert found.trigger == "33.1% of the step waits for input"
    assert found.share == pytest.approx(0.331)
    assert found.step_seconds == pytest.approx(0.669)


def test_what_could_bring_the_most_comes_first():
    found = advice(
        step(
            op("cudaStreamSynchronize", 0.1, Bucket.SYNC),
            op("load", 0.3, Bucket.INPUT),
            op("(outside operations)", 0.2, Bucket.OTHER),
        ),
        memory_share=0.95,
    )

    assert [advice.share for advice in found] == sorted(
        (advice.share for advice in found), reverse=True
    )
    assert found[-1].text == device_advice.CAPACITY


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        (op("enumerate(DataLoader)#_SingleProcessDataLoaderIter", 0.05, Bucket.INPUT), "WORKERS"),
        (
            op("enumerate(DataLoader)#_MultiProcessingDataLoaderIter", 0.05, Bucket.INPUT),
            "MORE_WORKERS",
        ),
        (op("infeed", 0.05, Bucket.INPUT), "PREFETCH"),
        (op("f (dynamo_timed)", 0.01, Bucket.CPU), "RECOMPILE"),
        (op("aten::item", 0.01, Bucket.CPU), "READ_BACK"),
        (op("cudaDeviceSynchronize", 0.01, Bucket.SYNC), "READ_BACK"),
        (op("(outside operations)", 0.15, Bucket.OTHER), "PYTHON"),
        (op("aten::add_", 0.01, path="Optimizer.step#Adam.step", count=64.0), "OPTIMIZER"),
        (op("cudaMalloc", 0.01, Bucket.RUNTIME), "ALLOCATOR"),
        (op("hipFree", 0.01, Bucket.RUNTIME), "ALLOCATOR"),
        (op("Memset (Device)", 0.01, Bucket.MEMSET, path="Optimizer.zero_grad#Adam"), "ZERO_GRAD"),
        (op("Memcpy HtoD (Pageable -> Device)", 0.01, Bucket.COPY), "PINNED"),
        (op("Memcpy DtoH (Device -> Pinned)", 0.01, Bucket.COPY), "TO_HOST"),
        (op("Memcpy HtoD (Pinned -> Device)", 0.05, Bucket.COPY, count=10.0), "OVERLAP_COPIES"),
        (op("Memcpy HtoD (Pinned -> Device)", 0.05, Bucket.COPY, count=11.0), "FEWER_COPIES"),
        (op("copy-done.4", 0.05, Bucket.COPY), "OFFLOAD"),
        (op("ncclKernel_AllReduce", 0.03, Bucket.COMMUNICATION), "ANY_COLLECTIVE"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_trigger_off_the_device_asks_for_its_advice(operation, text):
    assert texts(step(operation)) == [getattr(host_advice, text)]


@pytest.mark.parametrize(
    "operation",
    [
        op("infeed", 0.049, Bucket.INPUT),
        op("aten::item", 0.009, Bucket.CPU),
        op("(outside operations)", 0.149, Bucket.OTHER),
        op("aten::add_", 0.01, path="Optimizer.step#Adam.step", count=63.0),
        op("aten::_foreach_add_", 0.01, path="Optimizer.step#Adam.step", count=64.0),
        op("cudaMalloc", 0.009, Bucket.RUNTIME),
        op("Memcpy HtoD (Pinned -> Device)", 0.049, Bucket.COPY),
        op("copy-done.4", 0.049, Bucket.COPY),
        op("aten::empty", 0.1, path="Optimizer.zero_grad#Adam"),
        op("ncclKernel_AllReduce", 0.029, Bucket.COMMUNICATION),
        op("void at::native::copy(Pageable)", 0.04),  # no copy of the driver
    ],
    ids=lambda operation: operation.name,
)
def test_what_is_below_its_mark_is_no_trigger(operation):
    assert texts(step(operation)) == []


def test_what_compiled_outside_of_steps_is_no_trigger():
    traced = step(op("(tracing) f", 0.2, Bucket.RUNTIME), tool="jax.profiler")

    assert texts(replace(traced, has_steps=False)) == []


def test_xla_has_its_own_words():
    traced = step(op("(tracing) <lambda>", 0.2, Bucket.RUNTIME), tool="jax.profiler")

    (found,) = advice(traced)

    assert found.text == host_advice.RETRACE
    assert "(tracing) <lambda>; 1 call" in found.trigger


def test_short_kernels_ask_for_graphs_and_not_for_less_python():
    tiny = tuple(kernel(f"k{n}", seconds=5e-6) for n in range(3))
    outside = op("(outside operations)", 0.3, Bucket.OTHER)

    (found,) = advice(step(outside, kernels=tiny))

    assert found.text == host_advice.GRAPHS
    assert "3 launches" in found.trigger
    assert texts(step(outside, kernels=tiny, tool="jax.profiler")) == [host_advice.JIT]


def test_many_calls_of_jitted_functions_ask_for_one():
    calls = op("PjitFunction(f)", 0.5, Bucket.RUNTIME, count=200.0)

    (found,) = advice(step(calls, tool="jax.profiler"))

    assert found.text == host_advice.JIT
    assert found.trigger == "50.0% of the step is the host around 200 launches"


def test_collectives_are_told_apart():
    waits = op("ncclKernel_AllReduce", 0.3, Bucket.COMMUNICATION)
    late = Reading(name="comm_start_skew", value=0.5)

    (found,) = advice(step(waits, readings=(late,)))

    assert found.text == host_advice.COLLECTIVES[Detail.STRAGGLER]
    assert found.trigger.endswith("straggler")


def test_a_cpu_has_no_copies_to_pin():
    copies = step(op("aten::copy_", 0.2), op("Memcpy DtoH", 0.2, Bucket.COPY), device=None)

    assert texts(copies) == []


@pytest.mark.parametrize(
    ("operation", "more", "text"),
    [
        (op("add", 0.10), {"family": Family.ELEMENTWISE}, "FUSE"),
        (op("nchwToNhwcKernel", 0.01), {}, "CHANNELS_LAST"),
        (op("copy_kernel", 0.05, path="aten::contiguous/aten::copy_"), {}, "CONTIGUOUS"),
        (op("gemm", 0.05), {"family": Family.GEMM, "is_tensor": False}, "TENSOR_CORES"),
        (op("gemm", 0.01, shapes="double[8,8]"), {}, "FLOAT64"),
        (op("gemm", 0.05, path="aten::mm", shapes="c10::Half[8,7] c10::Half[7,8]"), {}, "X8"),
        (op("small", 0.05), {"blocks_per_multiprocessor": 0.99}, "MORE_BLOCKS"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_trigger_on_the_device_asks_for_its_advice(operation, more, text):
    found = texts(step(operation, kernels=(kernel(operation.name, **more),)))

    assert found == [getattr(device_advice, "MULTIPLE_OF_8" if text == "X8" else text)]


@pytest.mark.parametrize(
    ("operation", "more"),
    [
        (op("add", 0.099), {"family": Family.ELEMENTWISE}),
        (op("gemm", 0.05), {"family": Family.GEMM, "is_tensor": None}),
        (op("gemm", 0.05), {"family": Family.GEMM, "is_tensor": True}),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[16,8] Half[8,32]"), {}),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[16,8] Half[8,1]"), {}),
        (op("gemm", 0.05, path="aten::mm", shapes="float[7,7]"), {}),
        (op("gemm", 0.05, path="aten::mm", shapes="Half[,] Half[]"), {}),
        (op("small", 0.05), {"blocks_per_multiprocessor": 1.0}),
        (op("Memcpy", 0.04, Bucket.COPY), {"blocks_per_multiprocessor": 0.1}),
    ],
)
def test_a_device_that_gives_no_reason_gets_no_advice(operation, more):
    assert texts(step(operation, kernels=(kernel(operation.name, **more),))) == []


def test_what_xla_made_is_fused_already():
    add = step(op("add", 0.5), kernels=(kernel("add", Family.ELEMENTWISE),), tool="jax.profiler")

    assert texts(add) == []


def test_attention_in_parts_asks_for_the_fused_one():
    parts = (
        op("gemm", 0.1, path="aten::matmul/aten::bmm"),
        op("softmax", 0.1, path="aten::softmax/aten::_softmax"),
    )
    fused = op("flash_fwd_kernel", 0.1, path="aten::scaled_dot_product_attention")

    assert texts(step(*parts)) == [device_advice.ATTENTION]
    assert texts(step(*parts, fused)) == []
    assert texts(step(parts[0])) == []
    assert texts(step(*(replace(part, seconds=0.004) for part in parts))) == []


def test_a_device_without_tf32_is_not_told_to_use_it():
    profile = step(op("gemm", 0.5), kernels=(kernel("gemm", Family.GEMM, is_tensor=False),))

    assert texts(profile, hardware=V100) == [device_advice.TENSOR_CORES_HALF]


@pytest.mark.parametrize(
    ("capability", "told"),
    [
        ("6.0", []),
        ("7.5", [device_advice.TENSOR_CORES_HALF]),
        ("12.0", [device_advice.TENSOR_CORES]),
    ],
)
def test_a_device_without_facts_is_told_what_its_capability_has(capability, told):
    profile = step(op("gemm", 0.5), kernels=(kernel("gemm", Family.GEMM, is_tensor=False),))
    stated = ProfiledDevice(name="NVIDIA Z9000", compute_capability=capability)

    assert texts(replace(profile, device=stated)) == told


def test_the_device_that_the_profile_states_is_looked_up():
    gemm = kernel("gemm", Family.GEMM, is_tensor=False)
    profile = step(op("gemm", 0.5), kernels=(gemm,))
    stated = replace(profile, device=ProfiledDevice(name="Tesla T4"))

    assert texts(stated) == [device_advice.TENSOR_CORES_HALF]


def test_a_trigger_names_kernels_without_their_arguments():
    name = "void at::native::elementwise_kernel<4, at::native::Add>(int, float)"
    profile = step(op(name, 0.5), kernels=(kernel(name, Family.ELEMENTWISE),))

    (found,) = advice(profile)

    assert found.trigger.endswith("(at::native::elementwise_kernel; 1 call)")


def test_at_the_roof_there_is_nothing_to_gain():
    gemm = kernel("sgemm", Family.GEMM, flops=120e12, bytes=1e10, is_tensor=True)
    profile = step(kernels=(gemm,))

    (found,) = recommend(profile, classify(profile, hardware=V100), hardware=V100)

    assert found.text == device_advice.AT_ROOF
    assert found.step_seconds == profile.step_seconds


@pytest.mark.parametrize(
    ("grid", "shared_memory_bytes", "text", "words"),
    [
        ("216,1,1", 160_000, "SMALLER_BLOCKS", "limited by shared memory"),
        ("1188,1,1", 0, "FULL_WAVES", "in 1.38 waves"),
    ],
)
def test_latency_is_answered_by_the_launch(grid, shared_memory_bytes, text, words):
    slow = kernel(
        "sgemm",
        grid=grid,
        block="256,1,1",
        registers=32,
        shared_memory_bytes=shared_memory_bytes,
    )
    readings = tuple(
        Reading(name=name, value=0.2, subject="sgemm") for name in ("compute_sol", "memory_sol")
    )

    (found,) = advice(step(kernels=(slow,), readings=readings))

    assert found.text == getattr(device_advice, text)
    assert words in found.trigger
    assert found.share == 1.0


@pytest.mark.parametrize(("share", "is_told"), [(0.9, False), (0.901, True), (None, False)])
def test_memory_that_is_nearly_full_is_told(share, is_told):
    assert (device_advice.CAPACITY in texts(step(), memory_share=share)) is is_told


def test_memory_that_is_held_but_not_used_is_told():
    readings = (
        Reading(name="peak_mem_reserved", value=80e9, unit="B"),
        Reading(name="peak_mem_allocated", value=60e9, unit="B"),
    )
    profile = step(readings=readings)

    assert texts(profile, memory_share=0.95) == [
        device_advice.CAPACITY,
        device_advice.FRAGMENTED,
    ]
    assert texts(profile, memory_share=0.5) == []
    assert texts(step(readings=readings[:1]), memory_share=0.95) == [device_advice.CAPACITY]
    full = replace(readings[1], value=72e9)
    assert texts(step(readings=(readings[0], full)), memory_share=0.95) == [device_advice.CAPACITY]


def test_a_disturbed_machine_gets_no_advice_on_the_code():
    profile = step(op("load", 0.5, Bucket.INPUT))

    found = classify(profile, environment=("shared with another process",))

    assert found.primary is Bottleneck.ENVIRONMENT
    assert recommend(profile, found) == ()


def test_a_step_of_no_time_gets_no_advice():
    assert advice(replace(step(), step_seconds=0.0, operations=())) == ()


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            op,
            st.text(max_size=20),
            st.floats(0, 10),
            st.sampled_from(Bucket),
            path=st.text(max_size=20),
            shapes=st.text(max_size=20),
            count=st.floats(0, 1e6),
        ),
        max_size=8,
    )
)
def test_every_estimate_is_between_nothing_and_the_step(operations):
    total = sum(operation.seconds for operation in operations)
    profile = replace(step(), operations=tuple(operations), step_seconds=total)

    for found in advice(profile):
        assert 0 <= found.share <= 1
        assert 0 <= found.step_seconds <= total
        assert found.text
        assert found.trigger
