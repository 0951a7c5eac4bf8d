"""The files that fuzzing starts from: short, of every format, made in code; none was recorded."""

import importlib
import json
import sqlite3
from typing import Any

from perfledger_profiles.formats import ProfileFormat

COLUMNS = "Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns)"
NSYS = f"""\
Processing [report.sqlite] with [reports/cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,{COLUMNS},Name
75.0,3000000,3,1000000.0,1000000.0,900000,1100000,10.0,"void gemm<float, 128>(float*, float*)"
25.0,1000000,10,100000.0,100000.0,90000,110000,10.0,relu_kernel

Time (%),Total Time (ns),Count,{COLUMNS},Operation
90.0,2000000,4,500000.0,500000.0,1,1,1.0,[CUDA memcpy Host-to-Device]

Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
24.000,4,6.000,6.000,6.000,6.000,0.000,[CUDA memcpy Host-to-Device]

Time (%),Total Time (ns),Num Calls,{COLUMNS},Name
99.3,5000000,13,1.0,1.0,1,1,1.0,cudaLaunchKernel

Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Total GPU Ops
:forward,PushPop,6000000,8000000,2,13

PID,TID,DevId,Count,QCount,AAvg (ns),QAvg (ns),QMed (ns),KAvg (ns),API Name,Kernel Name
1,1,0,10,10,5000.0,7000.0,6000.0,100000.0,cudaLaunchKernel,"void gemm<float, 128>(float*)"
"""
NSYS_TRACE = """\
Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),\
Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
1000,2000,1,9,32,1,384,1,1,168,0.000,0.206,,,,,NVIDIA A100-SXM4-40GB (0),1,,7,gemm_kernel
4000,1000,2,9,32,1,384,1,1,168,0.000,0.206,,,,,NVIDIA A100-SXM4-40GB (1),1,,7,gemm_kernel
9000,2000,4,,,,,,,,,,0.024,12000.0,Host,Device,NVIDIA A100-SXM4-40GB (0),1,,7,[CUDA memcpy HtoD]
"""
NCU_HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC",'
)
NCU_ROW = '"0","1","a.out","host","sgemm_128x64","1","7","(384, 1, 1)","(9, 32, 1)","0","8.0",'
NCU_DETAILS = (
    f'==PROF== Connected to process 1\n{NCU_HEAD}"Section Name","Metric Name","Metric Unit",'
    f'"Metric Value","Rule Name"\n{NCU_ROW}"S","Duration","ns","406,240",\n'
    f'{NCU_ROW}"S","Compute (SM) Throughput","%","23.59",\n{NCU_ROW}"S","","","","SOL"\n'
    f'{NCU_ROW}"S","# SMs","SM","108",\n{NCU_ROW}"S","Achieved Occupancy","%","15.53",\n'
)
NCU_RAW = (
    f'{NCU_HEAD}"dram__bytes.sum","gpu__time_duration.sum","launch__occupancy_limit_warps"\n'
    + '"",' * 11
    + f'"Mbyte","usecond","block"\n{NCU_ROW}"1.5","20.0","5"\n{NCU_ROW}"n/a","10.0","5"\n'
)
DCGM = """\
# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-1",device="nvidia0",modelName="A100",Hostname="h"} 1215
DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-1"} 9223372036854775794
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",Hostname="h"} 319159391 1700000000000
DCGM_FI_PROF_SM_ACTIVE{gpu="0",GPU_I_PROFILE="1g.5gb",GPU_I_ID="13",Hostname="h"} 0.995687
"""
NCCL = """\
# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid   1234 on       host device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   1235 on       host device  1 [0000:2a:00] NVIDIA H100 80GB HBM3
#       size    count   type  redop  root    time  algbw  busbw #wrong    time  algbw  busbw #wrong
           8        2  float    sum    -1   35.20   0.00   0.00      0   34.05   0.00   0.00      0
     1048576   262144  float    sum    -1   74.78  14.02  14.02      0   76.17  13.77  13.77    N/A
  1073741824 268435456 float    sum    -1  8159.5 131.59 131.59      0  8176.5 131.32 131.32      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 68.4048
"""
VLLM = {
    "max_concurrency": 32,
    "request_rate": "inf",
    "duration": 10.5,
    "completed": 200,
    "request_throughput": 19.05,
    "output_throughput": 2438.1,
    "median_ttft_ms": 110.0,
    "p99_ttft_ms": 240.0,
    "p99.9_itl_ms": 80.0,
    "itls": [[0.01, 0.02]],
    "percentiles": {"10": 1.0, "99": 2.0},
}
VLLM_LOG = """\
============ Serving Benchmark Result ============
Successful requests:                     1024
Request rate configured (RPS):           16.05
Request throughput (req/s):              16.05
---------------Time to First Token----------------
Median TTFT (ms):                        363.05
P99 TTFT (ms):                           2301.28
Throughput: 37.42 requests/s, 14834.53 total tokens/s, 7417.27 output tokens/s
Avg latency: 2.5 seconds
50% percentile latency: 2.25 seconds
"""
GENAI = {
    "request_throughput": {"unit": "requests/sec", "avg": 12.5},
    "time_to_first_token": {"unit": "ms", "avg": 30.0, "p99": 60.0},
    "telemetry_stats": {"gpu_power_usage": {"unit": "W", "gpu0": {"avg": 300.0}}},
}
GENAI_CSV = """\
Metric,avg,min,max,p99,p50
Time To First Token (ms),30.00,20.00,70.00,60.00,29.00
Request Latency (ms),"1,500.00",100.00,"2,000.00","1,900.00",N/A

Metric,Value
Request Throughput (per sec),12.50

Metric,GPU,avg,min
GPU Power Usage (W),gpu0,300.00,1.00
"""
GENAI_PRINTED = """\
┃                     Statistic ┃      avg ┃      p99 ┃
│      Time to first token (ms) │ 1,229.91 │ 2,786.88 │
│    Output Token Throughput    │    89.23 │      11… │
│             (tokens/sec/user) │          │          │
│  Request throughput (per sec) │     4.56 │      N/A │
"""
PERF_ANALYZER_CSV = """\
Concurrency,Inferences/Second,Client Send,Server Queue,p50 latency,p99 latency,Avg latency
1,138.6,69,64,7100,9000,7200
4,200.5,75,9000,19000,25000,19500
"""
PERF_ANALYZER = {
    "experiments": [
        {
            "experiment": {"mode": "concurrency", "value": 4},
            "requests": [
                {"timestamp": 10**18 + n, "response_timestamps": [10**18 + 900, 10**18 + 1000 * n]}
                for n in range(1, 30)
            ],
        }
    ]
}
MODEL_ANALYZER = """\
Model,Batch,Concurrency,Model Config Path,Throughput (infer/sec),p99 Latency (ms),RAM Usage (MB)
resnet,4,2,resnet_i0,195.0,11.0,2897.0
resnet,1,1,resnet_i0,164.0,8.1,2937.0
"""
TRAINING = "\n".join(
    f":::MLLOG {json.dumps({'key': key, 'time_ms': time, 'value': value, 'metadata': metadata})}"
    for key, time, value, metadata in (
        ("init_start", 1000, None, {}),
        ("init_stop", 2000, None, {}),
        ("run_start", 2000, None, {}),
        ("tracked_stats", 3000, {"throughput": 2500.0}, {"samples_count": 100}),
        ("eval_accuracy", 4000, 0.7, {"epoch_num": 1, "samples_count": 200}),
        ("run_stop", 5000, None, {"status": "success"}),
    )
)
LOADGEN = """\
MLPerf Results Summary
Scenario : Server
Completed samples per second    : 81.68
Result is : VALID
Scheduled samples per second : 83.90
99.90 percentile latency (ns)   : 159705402675
99.00 percentile first token latency (ns)   : 1914647645
Mean Time per Output Token (ns)               : 144594078
target_qps : 83.5
"""
LOADGEN_DETAIL = "\n".join(
    f':::MLLOG {{"key": "{key}", "value": {value}, "time_ms": 1.5, "namespace": "mlperf::logging"}}'
    for key, value in (
        ("effective_scenario", '"Server"'),
        ("result_validity", '"VALID"'),
        ("result_completed_samples_per_sec", 81.68),
        ("result_99.00_percentile_latency_ns", 136069232834),
    )
)
ROCPROF = """\
"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",\
"End_Timestamp","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",\
"Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH","Agent 2",1,8,"void rms_norm_f32<1024>(float*)",1,1000,3000,64,1,1,1000,2,1
"KERNEL_DISPATCH","Agent 2",1,8,"void rms_norm_f32<1024>(float*)",2,4000,5000,64,1,1,1000,2,1
"KERNEL_DISPATCH","Agent 2",1,9,"Cijk_Ailk_Bljk_SB_MT64x64x16.kd",3,5000,11000,256,1,1,512,1,1
"""
ROCPROF_JSON = """{"rocprofiler-sdk-tool": [{"metadata": {"pid": 7}, "agents": [
 {"id": {"handle": 5}, "type": 2, "product_name": "AMD Instinct MI350X", "cu_count": 256}],
 "kernel_symbols": [{"kernel_id": 8, "kernel_name": "_Z3add.kd"}],
 "strings": {"buffer_records": [{"kind": "HIP", "operations": ["hipLaunchKernel"]}]},
 "buffer_records": {"kernel_dispatch": [{"start_timestamp": 2000, "end_timestamp": 3000,
  "correlation_id": {"internal": 1}, "dispatch_info": {"agent_id": {"handle": 5}, "kernel_id": 8,
  "queue_id": {"handle": 1}, "workgroup_size": {"x": 64, "y": 1, "z": 1},
  "grid_size": {"x": 128, "y": 1, "z": 1}}}],
 "memory_copy": [{"start_timestamp": 4000, "end_timestamp": 4500, "src_agent_id": {"handle": 1},
  "dst_agent_id": {"handle": 5}, "bytes": 64}],
 "hip_api": [{"start_timestamp": 1000, "end_timestamp": 1500, "kind": 0, "operation": 0,
  "thread_id": 7, "correlation_id": {"internal": 1}}]}}]}
"""
ROCPROF_STATISTICS = """\
"Name","Calls","TotalDurationNs","AverageNs","Percentage","MinNs","MaxNs","StdDev"
"sgemm_tiled(float const*, float const*, float*, int)",23,538601,23417.434783,100.00,1,2,3.0
"__amd_rocclr_copyBuffer",2,1000,500.0,0.1,1,2,3.0
"hipMemcpy",5,999999,1.0,1.0,1,2,3.0
"""
NVBANDWIDTH = """nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 12080
Driver Version: 572.83

example-host
Device 0: NVIDIA A10 (00000000:01:00)
Device 1: NVIDIA A10 (00000000:02:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     12.98     13.02

SUM host_to_device_memcpy_ce 26.00

Waived:
Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     45.10
 1     45.20       N/A

Running host_device_latency_sm.
memory latency SM CPU(row) <-> GPU(column) (ns)
           0         1
 0    613.22    614.00
"""
XPLANE = """
planes {
  name: "/device:TPU:0"
  event_metadata { key: 1 value { id: 1 name: "%dot = f32[8]{0} dot(f32[8]{0} %a)" } }
  stat_metadata { key: 1 value { id: 1 name: "device_offset_ps" } }
  stat_metadata { key: 2 value { id: 2 name: "device_duration_ps" } }
  lines { name: "XLA Ops" timestamp_ns: 1000 events {
    metadata_id: 1 offset_ps: 6000000 duration_ps: 40000000
    stats { metadata_id: 1 uint64_value: 0 } stats { metadata_id: 2 uint64_value: 40000000 }
  } }
}
planes {
  name: "/host:CPU"
  event_metadata { key: 1 value { id: 1 name: "step" } }
  event_metadata { key: 2 value { id: 2 name: "MemoryAllocation" } }
  stat_metadata { key: 1 value { id: 1 name: "step_num" } }
  stat_metadata { key: 2 value { id: 2 name: "index_on_host" } }
  stat_metadata { key: 3 value { id: 3 name: "bytes_allocated" } }
  lines { name: "python" timestamp_ns: 0 events {
    metadata_id: 1 offset_ps: 0 duration_ps: 100000000 stats { metadata_id: 1 int64_value: 4 }
  } }
  lines { name: "worker" timestamp_ns: 0 events {
    metadata_id: 2 offset_ps: 7000000 duration_ps: 0
    stats { metadata_id: 2 int64_value: 0 } stats { metadata_id: 3 int64_value: 31744 }
  } }
}
"""
# Columns of `nsys export --type sqlite` that a reader of kernels needs.
SQLITE = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
INSERT INTO StringIds VALUES (1, 'gemm_kernel'), (2, 'cudaLaunchKernel');
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER,
  computeMajor INTEGER, computeMinor INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA A100-SXM4-40GB', 42505273344, 108, 8, 0);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER,
  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
  shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
  blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (1000, 3000, 0, 7, 1, 1, 1, 1, 168, 9, 32, 1, 384, 1, 1, 0, 205696),
  (4000, 9000, 0, 7, 2, 1, 1, 1, 168, 9, 32, 1, 384, 1, 1, 0, 205696);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER,
  streamId INTEGER, correlationId INTEGER, bytes INTEGER, copyKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (9000, 9500, 0, 7, 3, 4096, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId INTEGER,
  correlationId INTEGER, globalTid INTEGER, returnValue INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (500, 800, 2, 1, 1, 0), (3500, 3800, 2, 2, 1, 0);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER,
  eventType INTEGER, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (0, 10000, 'step', NULL, 59, 1);
"""


# Columns of rocprofv3's database that a reader of kernels needs.
ROCPD = """
CREATE TABLE rocpd_info_agent_1 (id INTEGER PRIMARY KEY, type TEXT, product_name TEXT);
INSERT INTO rocpd_info_agent_1 VALUES (4, 'GPU', 'AMD Instinct MI300X');
CREATE TABLE rocpd_info_kernel_symbol_1 (id INTEGER PRIMARY KEY, kernel_name TEXT,
  display_name TEXT);
INSERT INTO rocpd_info_kernel_symbol_1 VALUES (1, '_Z3add.kd', 'attn_fwd');
CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER PRIMARY KEY, agent_id INTEGER, kernel_id INTEGER,
  start BIGINT, "end" BIGINT, workgroup_size_x INTEGER, workgroup_size_y INTEGER,
  workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER);
INSERT INTO rocpd_kernel_dispatch_1 VALUES (1, 4, 1, 1000, 3000, 64, 1, 1, 128, 1, 1),
  (2, 4, 1, 3000, 4000, 64, 1, 1, 128, 1, 1), (3, 4, 9, 4000, 5000, 64, 1, 1, 128, 1, 1);
CREATE TABLE rocpd_memory_copy_1 (id INTEGER PRIMARY KEY, start BIGINT, "end" BIGINT,
  src_agent_id INTEGER, dst_agent_id INTEGER, size BIGINT);
INSERT INTO rocpd_memory_copy_1 VALUES (1, 5000, 6000, 1, 4, 64);
"""


# What the binary files are made of: damaged as bytes they are mostly not files at all.
SCRIPTS = {
    ProfileFormat.NSYS_SQLITE: SQLITE,
    ProfileFormat.ROCPD: ROCPD,
    ProfileFormat.XPLANE: XPLANE,
}


def made_seeds() -> dict[ProfileFormat, tuple[bytes, ...]]:
    """Return the seeds of each format; xplane has none where jax is not installed."""
    texts: dict[ProfileFormat, tuple[str, ...]] = {
        ProfileFormat.KINETO: (kineto(),),
        ProfileFormat.NSYS_STATS: (NSYS, NSYS_TRACE),
        ProfileFormat.NCU: (NCU_DETAILS, NCU_RAW),
        ProfileFormat.DCGM: (DCGM,),
        ProfileFormat.NCCL_TESTS: (NCCL,),
        ProfileFormat.VLLM: (
            json.dumps(VLLM),
            json.dumps(VLLM) + "\n" + json.dumps(VLLM),
            VLLM_LOG,
        ),
        ProfileFormat.GENAI_PERF: (json.dumps(GENAI, indent=1), GENAI_CSV, GENAI_PRINTED),
        ProfileFormat.PERF_ANALYZER: (json.dumps(PERF_ANALYZER), PERF_ANALYZER_CSV),
        ProfileFormat.MODEL_ANALYZER: (MODEL_ANALYZER,),
        ProfileFormat.MLPERF_TRAINING: (TRAINING,),
        ProfileFormat.MLPERF_LOADGEN: (LOADGEN, LOADGEN_DETAIL),
        ProfileFormat.ROCPROF: (ROCPROF, ROCPROF_JSON, ROCPROF_STATISTICS),
        ProfileFormat.NVBANDWIDTH: (NVBANDWIDTH,),
    }
    seeds = {format_: tuple(text.encode() for text in many) for format_, many in texts.items()}
    return seeds | {
        ProfileFormat.NSYS_SQLITE: (database(SQLITE),),
        ProfileFormat.ROCPD: (database(ROCPD),),
        ProfileFormat.XPLANE: planes(),
    }


def kineto() -> str:
    def event(name: str, category: str, start: float, lasts: float, **args: object) -> object:
        thread = {"pid": 0, "tid": "stream 7"} if category == "kernel" else {"pid": 1, "tid": 1}
        timed = {"ph": "X", "cat": category, "name": name, "ts": start, "dur": lasts}
        return timed | thread | {"args": args}

    events = [
        each
        for step in range(3)
        for each in (
            event(f"ProfilerStep#{step}", "user_annotation", 1000 * step, 900),
            event(
                "aten::mm",
                "cpu_op",
                1000 * step + 10,
                100,
                **{"Input Dims": [[8, 8], [8, 8]], "Input type": ["float", "float"]},
            ),
            event("cudaLaunchKernel", "cuda_runtime", 1000 * step + 20, 5, correlation=step + 1),
            event("sgemm", "kernel", 1000 * step + 50, 700, correlation=step + 1, grid=[9, 1, 1]),
            event(
                "[memory]",
                "cpu_instant_event",
                1000 * step + 60,
                0,
                **{"Bytes": 512, "Device Type": 1, "Device Id": 0, "Total Reserved": 4096},
            ),
        )
    ]
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


def rebuilt(format_: ProfileFormat, text: str) -> bytes | None:
    """Return the binary file that a changed text describes, None where it describes none."""
    try:
        return planes(text)[0] if format_ is ProfileFormat.XPLANE else database(text)
    except (sqlite3.Error, sqlite3.Warning, ValueError, RuntimeError, IndexError, UnicodeError):
        return None


def database(script: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(script)
        return connection.serialize()
    finally:
        connection.close()


def planes(text: str = XPLANE) -> tuple[bytes, ...]:
    try:
        profiler: Any = importlib.import_module("jax.profiler")
    except ImportError:
        return ()
    return (profiler.ProfileData.text_proto_to_serialized_xspace(text),)
