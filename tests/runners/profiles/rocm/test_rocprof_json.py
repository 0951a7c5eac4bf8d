import json

import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm.rocprof import read_rocprof, read_rocprof_trace


def read(text, **options):
    return read_rocprof(text.encode(), workload="m:f", side=Side.HEAD, **options)


def dispatch(kernel, start, end, agent=5):
    size = {"x": 256, "y": 1, "z": 1}
    launch = {"agent_id": {"handle": agent}, "kernel_id": kernel, "dispatch_id": 1}
    return {
        "start_timestamp": start,
        "end_timestamp": end,
        "dispatch_info": {**launch, "workgroup_size": size, "grid_size": size},
    }


def document(*records):
    agents = [
        {"id": {"handle": 1}, "type": 1, "product_name": "AMD EPYC 9575F", "cu_count": 128},
        {"id": {"handle": 5}, "type": 2, "product_name": "AMD Instinct MI350X", "cu_count": 256},
    ]
    process = {
        "metadata": {"pid": 7},
        "agents": agents,
        "kernel_symbols": [
            {"kernel_id": 8, "kernel_name": "_Z3add.kd", "formatted_kernel_name": "attn_fwd"},
            {"kernel_id": 9, "kernel_name": "__amd_rocclr_fillBufferAligned.kd"},
        ],
        "buffer_records": {"kernel_dispatch": list(records), "hip_api": []},
    }
    return json.dumps({"rocprofiler-sdk-tool": [process]})


def test_json_names_the_device_that_ran_the_kernels():
    profile = read(document(dispatch(8, 1000, 2000), dispatch(9, 2000, 2500), dispatch(3, 0, 1)))

    assert profile.device.name == "AMD Instinct MI350X"
    assert (profile.device.multiprocessors, profile.device.count) == (256, 1)
    assert [kernel.name for kernel in profile.kernels] == [
        "attn_fwd",
        "__amd_rocclr_fillBufferAligned",
        "(kernel 3)",
    ]


def test_each_device_has_a_step_of_its_own():
    text = document(dispatch(8, 0, 1000), dispatch(8, 0, 500, 6), dispatch(8, 1500, 2000, 6))

    profile = read(text)

    assert {one.name: one.step_seconds for one in profile.devices} == {
        "device 0": pytest.approx(1e-6),
        "device agent 6": pytest.approx(2e-6),  # the file does not list it
    }
    assert profile.reading("gpu_busy") == pytest.approx(0.75)
    assert read(text, choice=DeviceChoice(device=0)).reading("gpu_busy") == pytest.approx(1.0)
    with pytest.raises(ProfileError, match="no work of device 7"):
        read(text, choice=DeviceChoice(device=7))


@pytest.mark.parametrize("number", [7, 8])
def test_devices_of_one_number_are_told_apart_by_their_process(number):
    first = json.loads(document(dispatch(8, 0, 1000)))
    (other,) = json.loads(document(dispatch(8, 500, 1000)))["rocprofiler-sdk-tool"]
    other["metadata"]["pid"] = number  # in containers all processes may have one number
    first["rocprofiler-sdk-tool"].append(other)

    profile = read(json.dumps(first))

    assert {one.name: one.step_seconds for one in profile.devices} == {
        "device 0 of rank 0": pytest.approx(1e-6),
        "device 0 of rank 1": pytest.approx(0.5e-6),
    }


def hip_call(operation, start, end, correlation):
    return {
        "kind": 1,
        "operation": operation,
        "thread_id": 7,
        "correlation_id": {"internal": correlation, "external": 0},
        "start_timestamp": start,
        "end_timestamp": end,
    }


def traced_document():
    """Return a file of `rocprofv3 --sys-trace`: the host waits before its second launch."""
    first, second = dispatch(8, 2000, 3000), dispatch(8, 9000, 10_000)
    first["correlation_id"], second["correlation_id"] = {"internal": 1}, {"internal": 3}
    text = json.loads(document(first, second))
    (process,) = text["rocprofiler-sdk-tool"]
    process["strings"] = {
        "buffer_records": [
            {"kind": "NONE", "operations": []},
            {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipStreamSynchronize"]},
        ]
    }
    process["buffer_records"]["hip_api"] = [
        hip_call(0, 1000, 1500, 1),
        hip_call(1, 1500, 8000, 2),
        hip_call(0, 8000, 8500, 3),
    ]
    process["buffer_records"]["memory_copy"] = [
        {
            "start_timestamp": 3000,
            "end_timestamp": 3500,
            "src_agent_id": {"handle": source},
            "dst_agent_id": {"handle": target},
            "bytes": 64,
        }
        for source, target in ((1, 5), (1, 1))
    ]
    return text


def test_calls_of_hip_say_what_the_device_waits_for():
    profile = read(json.dumps(traced_document()))

    seconds = {operation.name: operation.seconds for operation in profile.operations}
    assert profile.is_host_known
    assert seconds["hipStreamSynchronize"] == pytest.approx(4.5e-6)
    assert seconds["hipLaunchKernel"] == pytest.approx(0.5e-6)
    assert profile.bucket_seconds()[Bucket.COPY] == pytest.approx(0.5e-6)
    assert profile.reading("h2d_bw") == pytest.approx(64 / 0.5e-6)
    assert profile.step_seconds == pytest.approx(8e-6)


def test_numbers_of_calls_that_several_processes_share_link_nothing():
    text = traced_document()
    text["rocprofiler-sdk-tool"] *= 2

    trace = read_rocprof_trace(json.dumps(text).encode())

    assert (trace.correlation < 0).all()


@pytest.mark.parametrize("place", [-1, 7])
def test_a_call_whose_name_is_missing_is_one_of_hip(place):
    text = traced_document()
    text["rocprofiler-sdk-tool"][0]["buffer_records"]["hip_api"][1]["operation"] = place

    assert "(HIP call)" in read_rocprof_trace(json.dumps(text).encode()).names


@pytest.mark.parametrize(
    "text", ["{", '{"rocprofiler-sdk-tool": 3}', '{"rocprofiler-sdk-tool": []}', "{" * 100_000]
)
def test_other_json_is_refused(text):
    with pytest.raises(ProfileError):
        read(text)


def test_a_file_without_dispatches_is_refused():
    with pytest.raises(ProfileError, match="--kernel-trace"):
        read(document())


@pytest.mark.parametrize("huge", [2**62 + 1, 2**64, -1])
def test_impossible_numbers_are_left_out(huge):
    text = traced_document()
    records = text["rocprofiler-sdk-tool"][0]["buffer_records"]
    records["hip_api"][1]["end_timestamp"] = huge
    records["hip_api"][0]["correlation_id"]["internal"] = huge
    records["memory_copy"][0]["bytes"] = huge
    records["kernel_dispatch"][0]["dispatch_info"]["queue_id"] = {"handle": huge}

    profile = read(json.dumps(text))

    assert profile.dropped_events == 1
    assert profile.reading("h2d_bw") is None
    assert profile.step_seconds == pytest.approx(8e-6)
