import json

import pytest

from perfledger.profile import Bucket, OperationFamily
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm.dispatches import ADDED_UP
from perfledger_profiles.rocm.rocprof import read_rocprof

V3 = """"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",\
"End_Timestamp","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",\
"Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 2",1,8,"void rms_norm_f32<1024>(float*)",1,1000,3000,64,1,1,1000,2,1
"KERNEL_DISPATCH","Agent 2",1,8,"void rms_norm_f32<1024>(float*)",2,4000,5000,64,1,1,1000,2,1
"KERNEL_DISPATCH","Agent 2",1,9,"Cijk_Ailk_Bljk_SB_MT64x64x16.kd",3,5000,11000,256,1,1,512,1,1
"""
V2 = """Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,Wave_Size,Kernel_Name,\
Start_Timestamp,End_Timestamp,Correlation_ID
1,1,1,7,7,1024,256,64,"matrixTranspose(float*, float*, int) [clone .kd]",100,400,0
"""
V1 = """"Index","KernelName","gpu-id","queue-id","tid","grd","wgr","lds","DispatchNs","BeginNs",\
"EndNs","CompleteNs","DurationNs"
0,"bodyForce(Body*, float, int) [clone .kd]",0,0,7,65536,256,0,10,20,120,130,100
1,"bodyForce(Body*, float, int) [clone .kd]",0,0,7,65536,256,0,140,150,350,360,200
"""
STATISTICS = """"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
"sgemm_tiled(float const*, float const*, float*, int)",23,538601,23417.434783,100.00,1,2,3.0
"__amd_rocclr_copyBuffer",2,1000,500.0,0.1,1,2,3.0
"hipMemcpy",5,999999,1.0,1.0,1,2,3.0
"""
COPIES = """"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",\
"Start_Timestamp","End_Timestamp"
"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",0,2,952,1000,2000
"MEMORY_COPY","DEVICE_TO_HOST",2,0,953,3000,3500
"""


def read(text):
    data = text if isinstance(text, bytes) else text.encode()
    return read_rocprof(data, workload="m:f", side=Side.HEAD)


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


def test_version_3_lists_dispatches():
    profile = read(V3)

    gemm, norm = profile.kernels
    assert (gemm.name, gemm.seconds, gemm.family) == (
        "Cijk_Ailk_Bljk_SB_MT64x64x16",
        pytest.approx(6e-6),
        OperationFamily.GEMM,
    )
    assert (norm.count, norm.seconds) == (2.0, pytest.approx(3e-6))
    assert (norm.grid, norm.block) == ("16,2,1", "64,1,1")  # work-items in workgroups
    assert profile.reading("gpu_busy") == pytest.approx(0.9)
    assert (profile.tool, profile.has_steps) == ("rocprof", False)


@pytest.mark.parametrize(
    ("text", "name", "seconds", "grid"),
    [
        (V2, "matrixTranspose(float*, float*, int)", 300e-9, "4,1,1"),
        (V1, "bodyForce(Body*, float, int)", 300e-9, "256,1,1"),
    ],
)
def test_versions_1_and_2_state_sizes_as_one_number(text, name, seconds, grid):
    (kernel,) = read(text).kernels

    assert (kernel.name, kernel.seconds, kernel.grid) == (name, pytest.approx(seconds), grid)


def test_statistics_are_of_kernels_not_of_calls():
    names = [kernel.name for kernel in read(STATISTICS).kernels]

    assert names == [
        "sgemm_tiled(float const*, float const*, float*, int)",
        "__amd_rocclr_copyBuffer",
    ]


def test_copies_are_copies():
    profile = read(COPIES)

    assert {operation.name: operation.seconds for operation in profile.operations} == {
        "Memcpy HtoD": pytest.approx(1e-6),
        "Memcpy DtoH": pytest.approx(0.5e-6),
    }
    assert all(operation.bucket is not Bucket.COMPUTE for operation in profile.operations)


def test_json_names_the_device_that_ran_the_kernels():
    profile = read(document(dispatch(8, 1000, 2000), dispatch(9, 2000, 2500), dispatch(3, 0, 1)))

    assert profile.device.name == "AMD Instinct MI350X"
    assert (profile.device.multiprocessors, profile.device.count) == (256, 1)
    assert [kernel.name for kernel in profile.kernels] == [
        "attn_fwd",
        "__amd_rocclr_fillBufferAligned",
        "(kernel 3)",
    ]


def test_each_device_is_busy_for_itself():
    profile = read(
        document(
            dispatch(8, 0, 500), dispatch(8, 500, 1000), dispatch(8, 0, 1, 6), dispatch(8, 9, 10, 6)
        )
    )

    busy = {one.subject: one.value for one in profile.readings if one.name == "gpu_busy"}
    assert read(V3).notes == ()
    assert profile.notes == (ADDED_UP.format(2),)
    assert busy == {"5": pytest.approx(1.0), "6": pytest.approx(0.2)}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not a table",
        V3.splitlines()[0],
        '"Kind","Function","Start_Timestamp","End_Timestamp"\n"HIP_API","hipMalloc",1,2\n',
        '"Name","Calls","TotalDurationNs"\n"hipMemcpy",1,2\n',
        "{",
        '{"rocprofiler-sdk-tool": 3}',
        '{"rocprofiler-sdk-tool": []}',
        '{"traceEvents": []}',
        document(),
        "{" * 100_000,
        b"\x1f\x8b broken",
        b"\xff\xfe\x00",
    ],
)
def test_a_file_without_kernels_is_refused(text):
    with pytest.raises(ProfileError):
        read(text)


@pytest.mark.parametrize(
    "row",
    [
        '"KERNEL_DISPATCH",2,1,8,"k",1,-5,10,1,1,1,1,1,1',
        '"KERNEL_DISPATCH",2,1,8,"k",1,20,10,1,1,1,1,1,1',
        '"KERNEL_DISPATCH",2,1,8,"k",1,nan,1e9,1,1,1,1,1,1',
        '"KERNEL_DISPATCH",2,1,8,"k",1,1,99999999999999999999,1,1,1,1,1,1',
        '"KERNEL_DISPATCH",2,1,8,"",1,1,2,1,1,1,1,1,1',
        '"KERNEL_DISPATCH",2,1',
        '"KERNEL_DISPATCH","',
    ],
)
def test_a_damaged_row_is_counted_and_left_out(row):
    profile = read(V3 + row + "\n")

    assert len(profile.kernels) == 2
    assert profile.dropped_events == 1


def test_impossible_sizes_are_unknown():
    profile = read(V3.replace(",64,1,1,1000,2,1", ",0,1,1,99999999999,2,1"))

    assert {kernel.grid for kernel in profile.kernels} == {"", "2,1,1"}
