"""Reports here are written by hand in the shapes that `nsys stats` prints; nothing was recorded."""

import pytest

from perfledger.profile import Bucket, OperationFamily
from perfledger.records import Side
from perfledger_profiles.nsight_systems.stats_reports import (
    read_nsys_stats,
    read_nsys_stats_trace,
)
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError

PREAMBLE = """\
Generating SQLite file /home/somebody/report.sqlite from /home/somebody/report.nsys-rep
Processing [/home/somebody/report.sqlite] with [/opt/nsight-systems/reports/{0}.py]...
"""
COLUMNS = "Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"
KERNELS = f"""\
Time (%),Total Time (ns),Instances,{COLUMNS},Name
75.0,3000000,3,1000000.0,1000000.0,900000,1100000,10.0,"void gemm<float, 128>(float*, float*)"
25.0,1000000,10,100000.0,100000.0,90000,110000,10.0,relu_kernel
"""
COPY_TIMES = f"""\
Time (%),Total Time (ns),Count,{COLUMNS},Operation
90.0,2000000,4,500000.0,500000.0,1,1,1.0,[CUDA memcpy Host-to-Device]
10.0,1000000,2,500000.0,500000.0,1,1,1.0,[CUDA memset]
"""
COPY_SIZES = """\
Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
24.000,4,6.000,6.000,6.000,6.000,0.000,[CUDA memcpy Host-to-Device]
"""
API = f"""\
Time (%),Total Time (ns),Num Calls,{COLUMNS},Name
99.3,5000000,13,1.0,1.0,1,1,1.0,cudaLaunchKernel
"""
OS_RUNTIME = API.replace("cudaLaunchKernel", "pthread_cond_wait")
RANGES = f"""\
Time (%),Total Time (ns),Instances,{COLUMNS},Style,Range
100.0,8000000,2,4000000.0,4000000.0,1,1,1.0,PushPop,":step, forward"
"""
PROJECTED = """\
Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),Total GPU Ops
:forward,PushPop,6000000,8000000,2,3000000.0,13
"""
LAUNCHES = """\
PID,TID,DevId,Count,QCount,AAvg (ns),QAvg (ns),QMed (ns),KAvg (ns),API Name,Kernel Name
1,1,0,10,10,5000.0,7000.0,6000.0,100000.0,cudaLaunchKernel,"void gemm<float, 128>(float*)"
"""
TRACE = """\
Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),\
Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
1000,2000,1,9,32,1,384,1,1,168,0.000,0.206,,,,,NVIDIA A100-SXM4-40GB (0),1,,7,gemm_kernel
4000,1000,2,9,32,1,384,1,1,168,0.000,0.206,,,,,NVIDIA A100-SXM4-40GB (0),1,,7,gemm_kernel
4500,2500,3,8,1,1,128,1,1,32,0.000,0.000,,,,,NVIDIA A100-SXM4-40GB (0),1,,13,relu_kernel
9000,2000,4,,,,,,,,,,0.024,12000.0,Pageable,Device,NVIDIA A100-SXM4-40GB (0),1,,7,[CUDA memcpy HtoD]
"""


def read(*reports):
    text = "\n".join(reports)
    return read_nsys_stats(text.encode(), workload="m:f", side=Side.HEAD)


def test_the_kernel_summary_becomes_kernels_longest_first():
    profile = read(PREAMBLE.format("cuda_gpu_kern_sum"), KERNELS)

    assert [(k.name, k.seconds, k.count, k.family) for k in profile.kernels] == [
        ("void gemm<float, 128>(float*, float*)", pytest.approx(3e-3), 3, OperationFamily.GEMM),
        ("relu_kernel", pytest.approx(1e-3), 10, OperationFamily.ELEMENTWISE),
    ]
    assert profile.step_seconds == pytest.approx(4e-3)
    assert not profile.has_steps
    assert (profile.dropped_events, profile.notes) == (0, ())


def test_the_operations_sum_to_the_step():
    profile = read(KERNELS, COPY_TIMES)

    assert sum(profile.bucket_seconds().values()) == pytest.approx(profile.step_seconds)
    assert profile.bucket_seconds()[Bucket.COPY] == pytest.approx(2e-3)
    assert profile.bucket_seconds()[Bucket.MEMSET] == pytest.approx(1e-3)


def test_copies_have_time_bytes_and_bandwidth_by_direction():
    profile = read(COPY_TIMES, COPY_SIZES)

    assert profile.reading("h2d_time") == pytest.approx(2e-3)
    assert profile.reading("h2d_bytes") == pytest.approx(24e6)
    assert profile.reading("h2d_bw") == pytest.approx(12e9)
    assert profile.reading("memset_time") == pytest.approx(1e-3)
    assert profile.reading("d2h_time") is None


def test_several_reports_in_one_text_are_all_read():
    profile = read(
        PREAMBLE.format("cuda_api_sum"),
        API,
        PREAMBLE.format("osrt_sum"),
        OS_RUNTIME,
        PREAMBLE.format("nvtx_sum"),
        RANGES,
        PREAMBLE.format("nvtx_gpu_proj_sum"),
        PROJECTED,
        PREAMBLE.format("cuda_kern_exec_sum"),
        LAUNCHES,
    )

    readings = {(one.name, one.subject): one.value for one in profile.readings}
    gemm = "void gemm<float, 128>(float*)"
    assert readings == {
        ("host_api_time", "cudaLaunchKernel"): pytest.approx(5e-3),
        ("host_api_calls", "cudaLaunchKernel"): 13,
        ("os_runtime_time", "pthread_cond_wait"): pytest.approx(5e-3),
        ("os_runtime_calls", "pthread_cond_wait"): 13,
        ("range_time", "step, forward"): pytest.approx(8e-3),
        ("range_calls", "step, forward"): 2,
        ("range_device_time", "forward"): pytest.approx(6e-3),
        ("range_device_calls", "forward"): 2,
        ("launch_delay_mean", gemm): pytest.approx(7e-6),
        ("launch_delay_p50", gemm): pytest.approx(6e-6),
        ("launch_time_mean", gemm): pytest.approx(5e-6),
    }
    assert [(k.name, k.seconds) for k in profile.kernels] == [(gemm, pytest.approx(1e-3))]


@pytest.mark.parametrize(
    ("text", "name"), [(API, "host_api_time"), (OS_RUNTIME, "os_runtime_time")]
)
def test_a_report_of_functions_alone_is_told_by_its_functions(text, name):
    (found_name,) = {one.name for one in read(text).readings if one.unit == "s"}

    assert found_name == name


def test_the_trace_is_a_timeline_with_idle_time():
    profile = read(PREAMBLE.format("cuda_gpu_trace"), TRACE)

    assert profile.step_seconds == pytest.approx(10e-6)
    spent = profile.bucket_seconds()
    assert spent[Bucket.COMPUTE] == pytest.approx(5e-6)  # 1000 to 3000 and 4000 to 7000
    assert spent[Bucket.COPY] == pytest.approx(2e-6)
    assert spent[Bucket.OTHER] == pytest.approx(3e-6)
    assert not profile.is_host_known
    assert profile.reading("gpu_busy") == pytest.approx(7 / 10)
    assert profile.reading("h2d_bw") == pytest.approx(12e9)
    first = profile.kernels[0]
    assert (first.name, first.grid, first.registers) == ("gemm_kernel", "9,32,1", 168)
    assert (first.count, first.seconds) == (2, pytest.approx(3e-6))
    assert profile.device is not None
    assert profile.device.name == "NVIDIA A100-SXM4-40GB"


def test_each_device_of_a_trace_is_idle_by_itself():
    profile = read(TRACE.replace("(0),1,,13", "(1),1,,13"))

    assert [(one.name, one.step_seconds) for one in profile.devices] == [
        ("device 0", pytest.approx(10e-6)),
        ("device 1", pytest.approx(2.5e-6)),
    ]
    assert profile.devices[0].seconds(Bucket.OTHER) == pytest.approx(5e-6)
    assert profile.devices[1].seconds(Bucket.OTHER) == 0


def test_a_device_of_a_trace_may_be_chosen_and_one_of_sums_may_not():
    text = TRACE.replace("(0),1,,13", "(1),1,,13").encode()
    choice = DeviceChoice(device=1)

    chosen = read_nsys_stats(text, workload="m:f", side=Side.HEAD, choice=choice)

    assert chosen.step_seconds == pytest.approx(2.5e-6)
    with pytest.raises(ProfileError, match="leave out --device-number and --rank"):
        read_nsys_stats(KERNELS.encode(), workload="m:f", side=Side.HEAD, choice=choice)


def test_only_a_trace_has_calls_to_export():
    assert read_nsys_stats_trace(TRACE.encode()).name.size == 4
    with pytest.raises(ProfileError, match="no timeline to export"):
        read_nsys_stats_trace(KERNELS.encode())


def test_functions_beside_a_trace_are_readings():
    readings = {(one.name, one.subject): one.value for one in read(TRACE, API).readings}

    assert readings["host_api_time", "cudaLaunchKernel"] == pytest.approx(5e-3)
    assert readings["gpu_busy", ""] == pytest.approx(7 / 10)


def test_kernels_are_taken_from_the_trace_where_a_summary_is_there_too():
    profile = read(KERNELS, TRACE, COPY_TIMES)

    assert {kernel.name for kernel in profile.kernels} == {
        "gemm_kernel",
        "relu_kernel",
        "Memcpy HtoD (Pageable -> Device)",
    }


PRINTED = """\
[6/8] Executing 'cuda_gpu_kern_sum' stats report

 Time (%)  Total Time (ns)  Instances   Avg (ns)          Name
 --------  ---------------  ---------  -----------  ------------------
     75.0        3,000,000          3  1,000,000.0  gemm(float *, int)
     25.0        1,000,000         10    100,000.0  relu_kernel

[8/8] Executing 'cuda_gpu_mem_size_sum' stats report

 Total (MB)  Count  Avg (MB)               Operation
 ----------  -----  --------  ----------------------------
     24.000      4     6.000  [CUDA memcpy Host-to-Device]
      0.000      2     0.000  [CUDA memcpy Device-to-Host]
"""


def test_the_tables_that_nsys_prints_by_default_are_read_with_their_units():
    profile = read(PRINTED)

    assert [(k.name, k.seconds, k.count) for k in profile.kernels] == [
        ("gemm(float *, int)", pytest.approx(3e-3), 3),
        ("relu_kernel", pytest.approx(1e-3), 10),
    ]
    assert profile.reading("h2d_bytes") == pytest.approx(24e6)
    assert profile.reading("d2h_bytes") is None  # printed as 0.000 MB, which may be 400 bytes
    assert (profile.dropped_events, profile.notes) == (0, ())


def test_of_several_runs_in_one_text_the_first_is_read():
    profile = read(PRINTED, PRINTED.replace("3,000,000", "9,000,000"))

    assert profile.step_seconds == pytest.approx(4e-3)
    (note,) = profile.notes
    assert note.startswith("several runs are in one file, and only the first is read")
    assert "cuda_gpu_kern_sum, cuda_gpu_mem_size_sum" in note


def test_reports_by_launch_shape_and_other_units_and_old_titles_are_read():
    by_shape = (
        "Time (%),Total Time (us),Instances,Avg (us),GridXYZ,BlockXYZ,Name\n"
        "100.0,3000.0,3,1000.0,   9   32    1, 384    1    1,gemm\n"
    )
    old = "Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name\n100.0,500,1,1,1,1,a\n"

    shaped, plain_kernel = read(by_shape).kernels[0], read(old).kernels[0]

    assert (shaped.seconds, shaped.grid, shaped.block) == (
        pytest.approx(3e-3),
        "9,32,1",
        "384,1,1",
    )
    assert plain_kernel.seconds == pytest.approx(5e-7)


def test_a_report_that_is_not_read_does_not_continue_the_one_before():
    other = "NVTX Range,Style,PID,TID,Kern Inst,Total Time (ns),Kernel Name\n:a,PushPop,1,1,1,5,k\n"

    assert len(read(KERNELS + other).kernels) == 2


def test_a_torn_row_is_counted_and_the_others_are_read():
    profile = read(KERNELS[:-20])

    assert len(profile.kernels) == 1
    assert profile.dropped_events == 1
    assert profile.notes == ("unreadable lines or values: 1",)


def test_an_unclosed_quote_costs_its_own_row():
    profile = read(
        KERNELS.replace('float*)"', "float*)")
        + "".join(f"1.0,5,1,1,1,1,1,1,k{n}\n" for n in range(30))
    )

    assert len(profile.kernels) == 31
    assert profile.dropped_events == 1


@pytest.mark.parametrize("bad", ["nan", "inf", "-5", "1e400", "", "x"])
def test_a_time_that_is_none_costs_its_row(bad):
    profile = read(KERNELS.replace("3000000", bad, 1))

    assert [kernel.name for kernel in profile.kernels] == ["relu_kernel"]
    assert profile.dropped_events == 1


def test_paths_of_users_are_left_out_of_names():
    profile = read(RANGES.replace(":step, forward", "/home/somebody/train.py:12 step"))

    assert "somebody" not in repr(profile)


@pytest.mark.parametrize(
    "text", ["", "a,b\n1,2", "SKIPPED: report.sqlite does not contain CUDA kernels"]
)
def test_what_is_no_report_is_refused(text):
    with pytest.raises(ProfileError, match="no report of nsys"):
        read(text)


def test_a_report_without_a_usable_row_is_refused():
    with pytest.raises(ProfileError, match="nothing in this file is usable"):
        read(KERNELS.splitlines()[0] + "\nx,nan,3,1,1,1,1,1,a\n1,nan,3,1,1,1,1,1,a\n")


def test_a_device_of_nothing_but_space_is_told_at_once():
    profile = read(TRACE.replace("NVIDIA A100-SXM4-40GB (0)", "A" + " " * 100_000 + "(x)"))

    assert profile.device is not None
    assert profile.device.name == "A"


def test_ranges_of_emit_nvtx_are_one_range_per_operator():
    """torch's emit_nvtx appends numbers of the call, which say nothing about the operator."""
    rows = "".join(
        f'10.0,{1000 * number},1,1000.0,1000.0,1,1,1.0,PushPop,":aten::add, {numbers}"\n'
        for number, numbers in enumerate(("op_id = 17", "seq = 4, op_id = 18", "op_id = 19"), 1)
    )

    profile = read(RANGES + rows)

    ranges = {one.subject: one.value for one in profile.readings if one.name == "range_time"}
    calls = {one.subject: one.value for one in profile.readings if one.name == "range_calls"}
    assert ranges == {"step, forward": pytest.approx(8e-3), "aten::add": pytest.approx(6e-6)}
    assert calls == {"step, forward": 2, "aten::add": 3}
