"""The triggers of advice on the host, in profiles of a few operations."""

from dataclasses import replace

import pytest

from perfledger.profile import (
    Bucket,
    OperationFamily,
    ProfileReading,
)
from perfledger_profiles.bottleneck import host_advice
from perfledger_profiles.bottleneck.any_language_advice import (
    FEWER_WAITS,
    HOST_CODE,
)
from perfledger_profiles.bottleneck.classification import BottleneckConfidence, BottleneckDetail
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from tests.runners.profiles.bottleneck.example_steps import advice, kernel, op, step, texts


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
        (op("cudaFree", 0.05, Bucket.RUNTIME, count=2.0), "WARM_UP"),
        (op("cudaDeviceSynchronize", 0.01, Bucket.SYNC), "READ_BACK"),
        (op("(outside operations)", 0.15, Bucket.OTHER), "PYTHON"),
        (op("aten::add_", 0.01, path="Optimizer.step#Adam.step", count=64.0), "OPTIMIZER"),
        (op("Memset (Device)", 0.01, Bucket.MEMSET, path="Optimizer.zero_grad#Adam"), "ZERO_GRAD"),
        (op("ncclKernel_AllReduce", 0.03, Bucket.COMMUNICATION), "ANY_COLLECTIVE"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_trigger_off_the_device_asks_for_its_advice(operation, text):
    assert texts(step(operation)) == [getattr(host_advice, text).text]


@pytest.mark.parametrize("tool", ["nsys", "rocprof"])
@pytest.mark.parametrize(
    ("operation", "advice_text"),
    [
        (op("cudaDeviceSynchronize", 0.01, Bucket.SYNC), FEWER_WAITS.text),
        (op("(outside operations)", 0.15, Bucket.OTHER), HOST_CODE.text),
    ],
    ids=["wait", "host code"],
)
def test_a_program_that_may_be_in_any_language_is_not_told_torchs_words_alone(
    operation, advice_text, tool
):
    assert texts(step(operation, tool=tool)) == [advice_text]
    assert "nsys" not in advice_text


@pytest.mark.parametrize(
    "operation",
    [
        op("infeed", 0.049, Bucket.INPUT),
        op("aten::item", 0.009, Bucket.CPU),
        op("(outside operations)", 0.149, Bucket.OTHER),
        op("aten::add_", 0.01, path="Optimizer.step#Adam.step", count=63.0),
        op("aten::_foreach_add_", 0.01, path="Optimizer.step#Adam.step", count=64.0),
        op("cudaMalloc", 0.1, Bucket.RUNTIME, count=100.0),
        op("aten::empty", 0.1, path="Optimizer.zero_grad#Adam"),
        op("ncclKernel_AllReduce", 0.029, Bucket.COMMUNICATION),
    ],
    ids=lambda operation: operation.name,
)
def test_what_is_below_its_mark_is_no_trigger(operation):
    assert texts(step(operation)) == []


def test_what_compiled_outside_of_steps_is_no_trigger():
    traced = step(op("(tracing) f", 0.2, Bucket.RUNTIME), tool="jax.profiler")

    assert texts(replace(traced, has_steps=False)) == []


def test_short_kernels_ask_for_graphs_and_not_for_less_python():
    tiny = (kernel("k", seconds=5e-3, count=999.0),)
    calls = op("k", 5e-3, count=999.0)
    outside = op("(outside operations)", 0.3, Bucket.OTHER)

    (found_advice,) = advice(step(outside, calls, kernels=tiny))

    assert found_advice.text == host_advice.GRAPHS.text
    assert "around 1,000 kernels and copies, most of them below 10 us" in found_advice.trigger
    assert texts(step(outside, kernels=tiny, tool="jax.profiler")) == [host_advice.JIT.text]


def test_launches_that_are_captured_into_a_graph_need_no_other():
    tiny = (kernel("k", seconds=5e-3, count=1000.0),)
    outside = op("(outside operations)", 0.3, Bucket.OTHER)
    capture = op("hipGraphInstantiate", 0.01, Bucket.RUNTIME)

    assert texts(step(outside, capture, kernels=tiny)) == []


def test_sums_of_kernels_do_not_say_which_collectives_are_exposed():
    sums = replace(step(op("ncclKernel_AllReduce", 0.3, Bucket.COMMUNICATION)), has_steps=False)

    assert texts(sums) == []


def test_shares_of_a_sum_of_kernels_are_of_their_time():
    moving = kernel("add", OperationFamily.ELEMENTWISE, seconds=0.4)
    sums = replace(step(op("add", 0.4), kernels=(moving,)), has_steps=False)

    (found_advice,) = advice(sums)

    assert found_advice.trigger == (
        "40 % of the kernels' time is operations that mostly move data (add; 1 call)"
    )


def test_many_calls_of_jitted_functions_ask_for_one():
    calls = op("PjitFunction(f)", 0.5, Bucket.RUNTIME, count=2000.0)

    (found_advice,) = advice(step(calls, tool="jax.profiler"))

    assert found_advice.text == host_advice.JIT.text
    assert found_advice.trigger == "50 % of the step is host work around 2,000 launches"


def test_a_step_that_is_one_program_is_jitted_as_a_whole():
    call = op("PjitFunction(f)", 0.4e-3, Bucket.RUNTIME, count=1.0)
    profile = replace(step(call, tool="jax.profiler"), step_seconds=1e-3)

    assert classify(profile).detail is BottleneckDetail.LAUNCH
    assert advice(profile) == ()


def test_collectives_are_told_apart():
    waits = op("ncclKernel_AllReduce", 0.3, Bucket.COMMUNICATION)
    late = ProfileReading(name="comm_start_skew", value=0.5)

    (found_advice,) = advice(step(waits, readings=(late,)))

    assert found_advice.text == host_advice.COLLECTIVES[BottleneckDetail.STRAGGLER].text
    assert found_advice.trigger.endswith("straggler")


def test_a_cpu_has_no_copies_to_pin():
    copies = step(op("aten::copy_", 0.2), op("Memcpy DtoH", 0.2, Bucket.COPY), device=None)

    assert texts(copies) == []


@pytest.mark.parametrize("name", ["hipMemcpyWithStream", "cudaMemcpy"])
def test_copies_that_the_host_waits_in_are_to_be_pinned_and_asynchronous(name):
    profile = step(op(name, 0.6, Bucket.SYNC))

    found_recommendations = recommendations(profile, classify(profile))

    assert host_advice.BLOCKING_COPIES.text in [one.text for one in found_recommendations]
    assert host_advice.READ_BACK.text not in [one.text for one in found_recommendations]


@pytest.mark.parametrize(
    ("name", "bucket"),
    [("cudaMemcpyAsync", Bucket.RUNTIME), ("hipStreamSynchronize", Bucket.SYNC)],
)
def test_asynchronous_copies_and_other_waits_are_not_called_blocking_copies(name, bucket):
    profile = step(op(name, 0.6, bucket))

    found_recommendations = recommendations(profile, classify(profile))

    assert host_advice.BLOCKING_COPIES.text not in [one.text for one in found_recommendations]


def test_collectives_without_compute_to_hide_behind_are_to_send_less():
    waits = op("gloo:all_reduce", 0.9, Bucket.COMMUNICATION)
    profile = replace(step(waits, device=None), operations=(waits,))

    (found_advice,) = advice(profile)

    assert found_advice.text == host_advice.SEND_LESS.text
    assert found_advice.saved_share == pytest.approx(0.45)


def with_collectives(exposed, *, of, overlap):
    """Return a step with so much exposed communication, and readings of all of it."""
    readings = (
        ProfileReading(name="comm_time", value=of, unit="s"),
        ProfileReading(name="comm_overlap", value=overlap),
    )
    return step(op("ncclKernel", exposed, Bucket.COMMUNICATION), readings=readings)


def test_collectives_hide_only_behind_compute_beside_which_none_runs_yet():
    """They take 80 % of the step, 20 % of it beside compute; so no step is shorter than 80 %."""
    (found_advice,) = advice(with_collectives(0.6, of=0.8, overlap=0.25))

    assert found_advice.text == host_advice.COLLECTIVES[BottleneckDetail.NO_OVERLAP].text
    assert found_advice.step_seconds == pytest.approx(0.8)


def test_collectives_beside_all_of_the_compute_are_to_send_less():
    (found_advice,) = advice(with_collectives(0.6, of=1.0, overlap=0.395))

    assert found_advice.text == host_advice.SEND_LESS.text
    assert found_advice.saved_share == pytest.approx(0.3)


def test_the_capture_of_a_graph_is_no_step_and_gets_no_advice_on_python():
    outside = op("(outside operations)", 0.5, Bucket.OTHER)
    capture = op("hipStreamBeginCapture", 0.01, Bucket.RUNTIME)

    classification = classify(step(outside, capture))

    assert classification.confidence is BottleneckConfidence.LOW
    assert any(
        "a graph of launches (CUDA or HIP) is captured here" in one
        for one in classification.reasons
    )
    assert texts(step(outside, capture)) == []
    assert texts(step(outside)) == [host_advice.PYTHON.text]
