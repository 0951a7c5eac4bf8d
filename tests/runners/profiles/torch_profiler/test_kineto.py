import json

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.parsing.chrome_trace_json import CUT_OFF
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_profiles.timeline.call_labels import MAX_PATH_DEPTH
from perfledger_profiles.timeline.step_windows import (
    NO_DEVICE_WORK,
    NO_STEPS,
    NO_WORK_OF_DEVICES,
)
from perfledger_profiles.timeline.trace import STACKS_RECORDED
from perfledger_profiles.torch_profiler.kineto import read_kineto
from tests.suite.tries import tries

AUTOGRAD = (1, 2)
DATALOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def only(profile, name):
    (found_operation,) = [operation for operation in profile.operations if operation.name == name]
    return found_operation


def test_self_time_is_what_the_calls_inside_leave(trace, micros):
    trace.step(1, 0, 100).add("aten::linear", 10, 60).add("aten::addmm", 20, 40)

    profile = trace.read()

    assert micros(profile) == {"aten::linear": 20.0, "aten::addmm": 40.0, OUTSIDE_OPERATIONS: 40.0}
    assert only(profile, "aten::addmm").path == "aten::linear"
    assert (profile.steps, profile.step_seconds) == (1, pytest.approx(100e-6))


def test_the_first_of_three_steps_is_left_out_and_the_others_are_averaged(trace, micros):
    for number, (start, duration) in enumerate([(0, 900), (1000, 100), (1100, 120)]):
        trace.step(number, start, duration).add("aten::mm", start + 1, duration - 10)

    profile = trace.read()

    assert micros(profile) == {"aten::mm": 100.0, OUTSIDE_OPERATIONS: 10.0}
    assert (profile.steps, only(profile, "aten::mm").count) == (2, 1.0)


def test_a_trace_without_markers_is_one_step_and_says_so(trace, micros):
    trace.add("aten::mm", 10, 30).add("aten::add", 50, 10)

    profile = trace.read()

    assert micros(profile) == {"aten::mm": 30.0, "aten::add": 10.0, OUTSIDE_OPERATIONS: 10.0}
    assert profile.notes == (NO_STEPS,)


def test_the_device_may_stand_behind_the_events(trace):
    trace.step(1, 0, 100).launch("l", 0, 5, kernel="k", at=10, lasts=5, correlation=1)
    model = [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]
    rank = {"backend": "nccl", "rank": 3}
    text = json.dumps(
        {"distributedInfo": rank, "traceEvents": trace.events, "deviceProperties": model}
    )

    profile = trace.read(text.encode())

    assert profile.device is not None
    assert (profile.device.name, profile.rank) == ("NVIDIA A100-SXM4-40GB", 3)


def test_another_thread_fills_the_time_in_which_the_main_one_only_waits(trace, micros):
    trace.step(1, 0, 100).add("my region", 0, 100, cat="user_annotation")
    trace.add("aten::mm", 10, 20)
    trace.add("MmBackward0", 20, 60, thread=AUTOGRAD)
    trace.add("aten::mm of another process", 0, 100, thread=(9, 9))

    assert micros(trace.read()) == {"aten::mm": 20.0, "MmBackward0": 50.0, "my region": 30.0}


def test_the_step_is_no_part_of_a_path_but_the_annotations_in_it_are(trace):
    trace.step(1, 0, 100).add("my region", 0, 50, cat="user_annotation").add("aten::mm", 10, 20)

    assert only(trace.read(), "aten::mm").path == "my region"


def test_kernels_own_their_time_by_kind_and_the_host_gets_what_is_left(trace, micros):
    trace.step(1, 0, 100).add("aten::mm", 0, 30)
    trace.launch("cudaLaunchKernel", 5, 5, kernel="gemm", at=20, lasts=30, correlation=1)
    trace.add("ncclDevKernel_AllReduce", 40, 30, cat="kernel", thread=(0, "stream 20"))
    trace.add("Memcpy HtoD", 60, 20, cat="gpu_memcpy", thread=(0, "stream 9"))
    trace.add("Memset (Device)", 75, 10, cat="gpu_memset", thread=(0, "stream 9"))

    profile = trace.read()

    assert micros(profile) == {
        "gemm": 30.0,
        "ncclDevKernel_AllReduce": 20.0,
        "Memcpy HtoD": 10.0,
        "Memset (Device)": 5.0,
        "aten::mm": 15.0,
        "cudaLaunchKernel": 5.0,
        OUTSIDE_OPERATIONS: 15.0,
    }
    buckets = {operation.name: operation.bucket for operation in profile.operations}
    assert buckets["gemm"] is Bucket.COMPUTE
    assert buckets["ncclDevKernel_AllReduce"] is Bucket.COMMUNICATION
    assert buckets["Memcpy HtoD"] is Bucket.COPY
    assert buckets["Memset (Device)"] is Bucket.MEMSET
    assert buckets["aten::mm"] is Bucket.CPU
    assert buckets["cudaLaunchKernel"] is Bucket.RUNTIME


def test_a_kernel_takes_path_and_shapes_of_the_operator_that_launched_it(trace):
    dims = {"Input Dims": [[8, 4], [4, 2], []], "Input type": ["c10::Half", "c10::Half", "Scalar"]}
    trace.step(1, 0, 100).add("aten::linear", 0, 30).add("aten::addmm", 2, 20, **dims)
    trace.launch("cudaLaunchKernel", 5, 5, kernel="gemm", at=40, lasts=30, correlation=7)

    kernel = only(trace.read(), "gemm")

    assert kernel.path == "aten::linear/aten::addmm"
    assert kernel.shapes == "Half[8,4] Half[4,2]"


def test_a_wait_for_the_device_gives_way_to_work_of_another_thread(trace, micros):
    trace.step(1, 0, 100).add("cudaStreamSynchronize", 10, 80, cat="cuda_runtime")
    trace.add("MmBackward0", 20, 30, thread=AUTOGRAD)
    trace.add("gemm", 40, 20, cat="kernel", thread=(0, "stream 7"))

    profile = trace.read()

    assert micros(profile) == {
        "cudaStreamSynchronize": 40.0,
        "MmBackward0": 20.0,
        "gemm": 20.0,
        OUTSIDE_OPERATIONS: 20.0,
    }
    assert only(profile, "cudaStreamSynchronize").bucket is Bucket.SYNC


def test_all_that_loading_a_batch_calls_is_input(trace):
    trace.step(1, 0, 100).add(DATALOADER, 0, 50).add("aten::stack", 10, 20)

    profile = trace.read()

    assert only(profile, DATALOADER).bucket is Bucket.INPUT
    assert only(profile, "aten::stack").bucket is Bucket.INPUT


def test_on_a_cpu_the_operators_are_what_computes(trace):
    trace.step(1, 0, 100).add("aten::mm", 0, 50).add("gloo:all_reduce", 60, 10)
    trace.add("Optimizer.step#SGD.step", 80, 10)

    buckets = {operation.name: operation.bucket for operation in trace.read().operations}

    assert buckets == {
        "aten::mm": Bucket.COMPUTE,
        "gloo:all_reduce": Bucket.COMMUNICATION,
        "Optimizer.step#SGD.step": Bucket.CPU,
        OUTSIDE_OPERATIONS: Bucket.OTHER,
    }


def test_the_categories_of_old_versions_mean_the_same(trace, micros):
    trace.add("ProfilerStep#5", 0, 100, cat="Operator").add("aten::mm", 0, 30, cat="Operator")
    trace.add("cudaLaunchKernel", 5, 5, cat="Runtime", correlation=1)
    trace.add("gemm", 20, 30, cat="Kernel", thread=(0, "stream 7"), correlation=1)
    trace.add("Memcpy HtoD", 60, 20, cat="Memcpy", thread=(0, "stream 7"))
    trace.add("Memset", 80, 10, cat="Memset", thread=(0, "stream 7"))

    profile = trace.read()

    assert micros(profile) == {
        "aten::mm": 15.0,
        "cudaLaunchKernel": 5.0,
        "gemm": 30.0,
        "Memcpy HtoD": 20.0,
        "Memset": 10.0,
        OUTSIDE_OPERATIONS: 20.0,
    }
    assert only(profile, "gemm").path == "aten::mm"


def test_other_events_and_other_categories_take_no_time(trace, micros):
    trace.step(1, 0, 10).add("PyTorch Profiler (0)", 0, 10, cat="Trace")
    trace.add("f.py(3): g", 0, 10, cat="python_function")
    trace.events.append({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 3})
    trace.events.append({"ph": "M", "name": "process_name", "args": {"name": "python"}})

    assert micros(trace.read()) == {OUTSIDE_OPERATIONS: 10.0}


def test_packed_and_plain_are_read_alike(trace):
    trace.step(1, 0, 100).add("aten::mm", 0, 50)

    assert trace.read(trace.packed()) == trace.read()


def test_host_names_folders_and_control_characters_do_not_come_through(trace):
    trace.step(1, 0, 100).add("/home/ann/lab/\x1b[31mtrain.py:\u202e7", 0, 50)
    text = trace.text()[:-1] + ', "host_name": "box.lab", "traceName": "/home/ann/t.json"}'

    profile = trace.read(text.encode())

    assert {operation.name for operation in profile.operations} == {
        "[31mtrain.py:7",
        OUTSIDE_OPERATIONS,
    }
    assert "ann" not in repr(profile)
    assert "box" not in repr(profile)


def test_broken_times_are_dropped_and_counted(trace, micros):
    trace.step(1, 0, 100).add("aten::mm", 0, 50)
    trace.add("negative", 10, -5).add("before the epoch", -1, 5).add("too late", 1e18, 1)
    trace.add("too long", 10, 1e15)

    profile = trace.read()

    assert micros(profile) == {"aten::mm": 50.0, OUTSIDE_OPERATIONS: 50.0}
    assert profile.dropped_events == 4


@pytest.mark.parametrize("duration", [0, -3])
def test_a_trace_whose_steps_have_no_length_is_an_error(trace, duration):
    trace.step(1, 50, duration)

    with pytest.raises(ProfileError, match="no step with a length"):
        trace.read()


def test_a_thousand_calls_deep_is_read_and_the_path_stops_growing(trace):
    trace.step(1, 0, 10_000)
    for depth in range(1000):
        trace.add(f"f{depth}", depth, 9_000 - 2 * depth)

    profile = trace.read()

    assert max(o.path.count("/") for o in profile.operations) == MAX_PATH_DEPTH - 1
    assert sum(o.seconds for o in profile.operations) == pytest.approx(10_000e-6, abs=1e-12)


def test_nanoseconds_survive_timestamps_weeks_after_the_machine_started(trace, micros):
    begin = 4_333_329_314_848.125
    trace.step(1, begin, 0.5).add("aten::mm", begin + 0.25, 0.125)

    assert micros(trace.read()) == {"aten::mm": 0.125, OUTSIDE_OPERATIONS: 0.375}


CATEGORIES = ("cpu_op", "user_annotation", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset")
events = st.fixed_dictionaries(
    {
        "ph": st.just("X"),
        "cat": st.sampled_from(CATEGORIES),
        "name": st.sampled_from(
            ["aten::mm", "ProfilerStep#1", DATALOADER, "cudaStreamSynchronize", "nccl", "a\x00/b"]
        ),
        "pid": st.integers(0, 1),
        "tid": st.sampled_from([0, 1, "stream 7"]),
        "ts": st.floats(0, 300, allow_nan=False),
        "dur": st.floats(-1, 200, allow_nan=False),
        "args": st.fixed_dictionaries({"correlation": st.integers(0, 3)}),
    }
)


@pytest.mark.slow
@settings(max_examples=tries(60), deadline=None)
@given(st.lists(events, min_size=1, max_size=25))
def test_the_operations_of_any_trace_sum_to_the_step(many):
    data = json.dumps({"traceEvents": many}).encode()
    try:
        profile = read_kineto(data, workload="m:f", side=Side.BASE)
    except ProfileError:
        return

    assert sum(o.seconds for o in profile.operations) == pytest.approx(
        profile.step_seconds, abs=1e-9
    )
    assert all(o.seconds >= 0 for o in profile.operations)
    assert profile.step_seconds > 0


@pytest.mark.parametrize("broken", [0, -1, 10**30])
def test_a_device_that_has_nothing_or_too_much_of_something_is_not_known(trace, broken):
    fields = {"name": "NVIDIA T4", "totalGlobalMem": broken, "numSms": broken}
    trace.header = {"deviceProperties": [fields]}
    trace.step(1, 0, 100).add("k", 10, 20, cat="kernel", thread=(0, 7), stream=7)

    device = trace.read().device

    assert (device.memory_bytes, device.multiprocessors) == (None, None)


def test_a_viewers_trace_of_another_profiler_names_the_file_to_give(trace):
    trace.events.append({"ph": "X", "name": "dot.1", "pid": 1, "tid": 1, "ts": 0, "dur": 5})

    with pytest.raises(ProfileError, match=r"give the \.xplane\.pb"):
        trace.read()


def test_launches_whose_kernels_are_not_in_the_file_leave_the_device_unknown(trace):
    """As of a profiler of counters, which takes the activity record's place on the device."""
    trace.step(1, 0, 100).add("aten::uniform_", 10, 60)
    trace.add("cudaLaunchKernel", 20, 30, cat="cuda_runtime", correlation=1)

    profile = trace.read()
    classification = classify(profile)

    assert profile.bucket_seconds()[Bucket.COMPUTE] == 0
    assert NO_DEVICE_WORK in profile.notes
    assert classification.primary is Bottleneck.UNKNOWN
    assert [one.bottleneck for one in classification.shares] == [Bottleneck.UNKNOWN]
    assert classification.reasons[0].startswith("the file has no device work")
    assert recommendations(profile, classification) == ()


def test_devices_without_work_or_launches_may_not_have_been_recorded(trace):
    trace.header = {"deviceProperties": [{"name": "NVIDIA A100"}]}
    trace.step(1, 0, 100).add("aten::mm", 10, 60)

    profile = trace.read()

    assert NO_WORK_OF_DEVICES in profile.notes
    assert profile.bucket_seconds()[Bucket.COMPUTE] == pytest.approx(60e-6)


def test_what_waits_on_a_device_is_not_its_work(trace):
    for name, at in (("pe_exe", 10), ("event_wait", 40)):
        trace.add(name, at, 20, cat="mtia_ccp_events", thread=(0, 7), stream=7)
    trace.step(1, 0, 100)

    assert trace.read().bucket_seconds()[Bucket.COMPUTE] == pytest.approx(20e-6)


@pytest.mark.parametrize("second", [30, 89])
def test_steps_that_overlap_on_one_thread_are_of_two_processes(trace, second):
    """Two hosts number their processes alike; joined, their steps would cut each other short."""
    trace.step(1, 0, 100).step(1, second, 100)

    with pytest.raises(ProfileError, match="give one file per process"):
        trace.read()


def test_neighbouring_steps_overlap_by_a_rounding(trace):
    trace.step(1, 0, 100).step(2, 91, 100)

    assert trace.read().steps == 2


def test_kernels_without_a_length_are_not_known(trace):
    trace.step(1, 0, 100)
    trace.launch("cudaLaunchKernel", 10, 5, kernel="gemm", at=20, lasts=0, correlation=1)

    assert classify(trace.read()).primary is Bottleneck.UNKNOWN


def test_what_a_cut_off_file_does_not_show_is_unknown(trace):
    trace.step(1, 0, 100).add("aten::mm", 0, 95)
    trace.launch("cudaLaunchKernel", 10, 5, kernel="gemm", at=20, lasts=10, correlation=1)
    trace.launch("cudaLaunchKernel", 40, 5, kernel="gemm", at=50, lasts=30, correlation=2)
    whole_data, cut_off = trace.data(), trace.data()[:-40]

    profile = trace.read(cut_off)

    assert trace.read(whole_data).is_host_known
    assert CUT_OFF in profile.notes
    assert classify(profile).primary is Bottleneck.UNKNOWN


@pytest.mark.parametrize(("with_stack", "is_noted"), [(1, True), (0, False), ("x", False)])
def test_recorded_python_calls_are_noted(trace, with_stack, is_noted):
    trace.header = {"with_stack": with_stack}
    trace.step(1, 0, 100).add("aten::mm", 10, 60)

    assert (STACKS_RECORDED in trace.read().notes) is is_noted
