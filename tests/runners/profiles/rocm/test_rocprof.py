import pytest

from perfledger.profile import Bucket, OperationFamily
from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm.dispatches import NO_COPIES, NO_KERNELS
from perfledger_profiles.rocm.rocprof import read_rocprof, read_rocprof_trace
from perfledger_profiles.timeline.step_windows import DEVICE_WINDOW

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
"__hipPushCallConfiguration",1,1180,1180.0,64.5,1,2,3.0
"""
COPIES = """"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id",\
"Start_Timestamp","End_Timestamp"
"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",0,2,952,1000,2000
"MEMORY_COPY","DEVICE_TO_HOST",2,0,953,3000,3500
"""


def read(text, **options):
    data = text if isinstance(text, bytes) else text.encode()
    return read_rocprof(data, workload="m:f", side=Side.HEAD, **options)


JOINED = """"Guid","Kind","Agent_Id","Queue_Id","Kernel_Name","Start_Timestamp","End_Timestamp"
"aa","KERNEL_DISPATCH","Agent 4",1,"Cijk_Ailk_Bljk_SB_MT64x64x16",1000,2000
"bb","KERNEL_DISPATCH","Agent 4",1,"ncclDevKernel_Generic(args)",1000,2000
"aa","KERNEL_DISPATCH","Agent 4",1,"ncclDevKernel_Generic(args)",2000,3000
"bb","KERNEL_DISPATCH","Agent 4",1,"Cijk_Ailk_Bljk_SB_MT64x64x16",2000,3000
"""


@pytest.mark.parametrize("text", [JOINED, JOINED.replace("Guid", "PID")])
def test_processes_of_a_joined_table_have_devices_of_their_own(text):
    profile = read(text)

    assert [one.name for one in profile.devices] == ["device 4 of rank 0", "device 4 of rank 1"]
    assert profile.bucket_seconds()[Bucket.COMMUNICATION] == pytest.approx(1e-6)
    assert profile.reading("comm_overlap") == 0.0


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


@pytest.mark.parametrize("name", ["CopyDeviceToHost", "MEMORY_COPY_DEVICE_TO_HOST"])
def test_statistics_of_copies_are_no_compute(name):
    profile = read(f'"Name","Calls","TotalDurationNs"\n"{name}",2,886000000\n')

    assert profile.bucket_seconds()[Bucket.COPY] == pytest.approx(0.886)
    assert classify(profile).shares[0].bottleneck is Bottleneck.TRANSFER


def test_statistics_of_domains_say_which_ones_to_give():
    with pytest.raises(ProfileError, match=r"_kernel_stats\.csv"):
        read('"Name","Calls","TotalDurationNs"\n"KERNEL_DISPATCH",1510,9055628\n')


def test_the_time_without_work_is_idle_and_its_reason_unknown():
    profile = read(V3)

    classification = classify(profile)

    assert profile.step_seconds == pytest.approx(10e-6)  # from the first work to the last
    assert profile.bucket_seconds()[Bucket.COMPUTE] == pytest.approx(9e-6)
    assert profile.bucket_seconds()[Bucket.OTHER] == pytest.approx(1e-6)
    assert not profile.is_host_known
    assert profile.notes == (NO_COPIES, DEVICE_WINDOW)
    shares = {one.bottleneck: one.share for one in classification.shares}
    assert shares[Bottleneck.UNKNOWN] == pytest.approx(0.1)


def test_a_mostly_idle_device_is_bound_by_what_the_file_does_not_show():
    profile = read(V2 + '2,1,1,7,7,1024,256,64,"k",9700,10100,0\n')

    classification = classify(profile)

    assert classification.primary is Bottleneck.UNKNOWN
    assert classification.reasons[0] == (
        "93 % of the step has no work on the device, and no host call was recorded in "
        "that time to show why: record both in one file"
    )


def test_copies_are_of_the_device_and_overlap_its_kernels():
    profile = read(COPIES)

    assert {operation.name: operation.seconds for operation in profile.operations} == {
        "Memcpy HtoD": pytest.approx(1e-6),
        "Memcpy DtoH": pytest.approx(0.5e-6),
        "(outside operations)": pytest.approx(1e-6),
    }
    assert profile.bucket_seconds()[Bucket.COPY] == pytest.approx(1.5e-6)
    assert profile.notes == (NO_KERNELS, DEVICE_WINDOW)
    assert profile.devices == ()  # the host, which has the other end of both, is none


def test_a_copy_between_two_devices_is_communication():
    profile = read(COPIES + '"MEMORY_COPY","DEVICE_TO_DEVICE",2,3,9,4000,5000\n')

    assert profile.bucket_seconds()[Bucket.PEER_COPY] == pytest.approx(1e-6)


def test_statistics_have_no_devices_and_no_timeline():
    with pytest.raises(ProfileError, match="no timeline of devices"):
        read(STATISTICS, choice=DeviceChoice(device=0))
    with pytest.raises(ProfileError, match="no timeline to export"):
        read_rocprof_trace(STATISTICS.encode())


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


def test_sums_of_rocpd_summary_are_statistics_of_kernels():
    profile = read(
        '"Name","Calls","DURATION (nsec)","AVERAGE (nsec)"\n"norm_l23",1001,92043050,91951.1\n'
    )

    (kernel,) = profile.kernels
    assert (kernel.name, kernel.count) == ("norm_l23", 1001.0)
    assert kernel.seconds == pytest.approx(92.04305e-3)


def test_kernels_with_unreadable_sums_are_counted_as_left_out():
    header = '"Name","Calls","DURATION (nsec)"\n'

    profile = read(f'{header}"norm",10,9.2e7\n"gemm",2,100\n"hipFree",2,100\n')

    assert [kernel.name for kernel in profile.kernels] == ["gemm"]
    assert profile.notes == ("unreadable lines or values: 1",)
    with pytest.raises(ProfileError, match="nothing in this file is usable"):
        read(f'{header}"norm",10,-5\n')
