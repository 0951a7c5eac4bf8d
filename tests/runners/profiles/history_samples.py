"""Small files in the exact shapes of tools that do not run here, with numbers of our own.

Each names the public source of its shape.
"""

import json
from typing import Any

COMMITS = ("a" * 40, "b" * 40, "c" * 40)

# benchmark-action/github-action-benchmark, src/write.ts, and a data.js of a gh-pages branch.
ACTION_RUNS: list[dict[str, Any]] = [
    {
        "commit": {
            "author": {"name": "A", "email": "a@example.invalid"},
            "id": commit,
            "message": "a change",
            "timestamp": f"2026-01-0{day}T19:34:43+08:00",
            "url": f"https://example.invalid/commit/{commit}",
        },
        "date": 1767600000000 + day * 86_400_000,
        "tool": "googlecpp",
        "benches": [
            {"name": "fib_10", "value": 198.5 + day, "unit": "ns/iter", "extra": "threads: 1"}
        ],
    }
    for day, commit in enumerate(COMMITS, start=1)
]
ACTION: dict[str, Any] = {
    "lastUpdate": 1767900000000,
    "repoUrl": "https://example.invalid/r",
    "entries": {"C++ Benchmark": ACTION_RUNS},
}
ACTION_SCRIPT = f"window.BENCHMARK_DATA = {json.dumps(ACTION, indent=2)}"

# bencherdev/bencher, lib/bencher_json/src/project/perf.rs, and measure/defs.rs for the units.
BENCHER_PERF: dict[str, Any] = {
    "project": {"name": "octo", "slug": "octo"},
    "start_time": None,
    "end_time": None,
    "results": [
        {
            "branch": {"name": "main", "slug": "main"},
            "testbed": {"name": "h100", "slug": "h100"},
            "benchmark": {"name": "decode", "slug": "decode"},
            "measure": {"name": "Latency", "slug": "latency", "units": "nanoseconds (ns)"},
            "metrics": [
                {
                    "report": "1",
                    "iteration": 0,
                    "start_time": f"2026-01-0{number}T00:00:00Z",
                    "end_time": f"2026-01-0{number}T00:01:00Z",
                    "version": {"number": number, "hash": commit},
                    "metric": {"value": 80.0 + number, "lower_value": 79.0, "upper_value": 90.0},
                    "threshold": None,
                    "boundary": None,
                    "alert": None,
                }
                for number, commit in enumerate(COMMITS, start=1)
            ],
        }
    ],
}
# https://bencher.dev/docs/reference/bencher-metric-format
BENCHER_BMF: dict[str, Any] = {
    "decode": {
        "latency": {"value": 88.0, "lower_value": 87.42, "upper_value": 88.88},
        "throughput": {"value": 5.55},
    },
    "binary": {"file-size": {"value": 42.0}, "build-time": {"value": 7.0}},
}

# The keys that `vllm bench serve --save-result` writes (vllm/benchmarks/serve.py).
VLLM_SERVE: dict[str, Any] = {
    "date": "20260523-114606",
    "endpoint_type": "openai-chat",
    "backend": "openai-chat",
    "label": None,
    "model_id": "llama-8b",
    "tokenizer_id": "llama-8b",
    "num_prompts": 4,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 1,
    "duration": 0.75,
    "completed": 4,
    "failed": 0,
    "total_input_tokens": 288,
    "total_output_tokens": 64,
    "request_throughput": 5.25,
    "request_goodput": None,
    "output_throughput": 84.5,
    "total_token_throughput": 465.5,
    "mean_ttft_ms": 19.5,
    "median_ttft_ms": 20.0,
    "std_ttft_ms": 0.3,
    "p99_ttft_ms": 20.5,
    "median_itl_ms": 11.25,
    "ttfts": [0.019, 0.02, 0.02, 0.0205],
}

# pytorch/test-infra, benchmark-results-dir-for-testing/v3, and the columns of its database.
PYTORCH_V3: list[dict[str, Any]] = [
    {
        "timestamp": 1767600000 + day,
        "head_sha": commit,
        "benchmark": {
            "name": "pr_time_benchmarks",
            "mode": "training",
            "dtype": "bf16",
            "extra_info": {"is_dynamic": False, "device": "cuda", "description": "adds nodes"},
        },
        "model": {"name": "add_loop_eager", "type": "add_loop", "backend": "eager"},
        "runners": [{"name": "cuda", "type": "NVIDIA H100 80GB HBM3"}],
        "metric": {"name": "compile_time_instruction_count", "benchmark_values": [3, 1, 2]},
    }
    for day, commit in enumerate(COMMITS)
]


def _summary(tag, name, hint, value, **more):
    """Return a summary as nvbench writes it: its value is a text."""
    data = [{"name": "value", "type": "float64", "value": value}]
    return {"tag": tag, "name": name, "hint": hint, "data": data, **more}


# NVIDIA/nvbench, python/test/test_nvbench_json_summary.py.
NVBENCH: dict[str, Any] = {
    "devices": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
    "benchmarks": [
        {
            "name": "copy",
            "devices": [0],
            "states": [
                {
                    "name": "Device=0 BlockSize=2^8",
                    "device": 0,
                    "type_config_index": 0,
                    "axis_values": [{"name": "BlockSize", "type": "int64", "value": "256"}],
                    "summaries": [
                        _summary("nv/cold/sample_size", "Samples", "sample_size", "12"),
                        _summary("nv/cold/time/gpu/mean", "GPU Time", "duration", "1.25e-6"),
                        _summary("nv/cold/time/gpu/stdev/relative", "Noise", "percentage", "0.01"),
                        _summary("nv/cold/bw/item_rate", "Elem/s", "item_rate", "2.5e9"),
                        _summary(
                            "nv/cold/time/gpu/min", "Min", "duration", "1e-6", hide="By default."
                        ),
                    ],
                    "is_skipped": False,
                },
                {
                    "name": "Device=0 BlockSize=2^9",
                    "device": 0,
                    "axis_values": None,
                    "summaries": None,
                    "is_skipped": True,
                },
            ],
        }
    ],
}

# llvm/llvm-lnt, docs/importing_data.rst and docs/report-example.json.
LNT: dict[str, Any] = {
    "format_version": "2",
    "machine": {"name": "aarch64-A53", "hardware": "HAL 9000"},
    "run": {
        "start_time": "2026-07-18T11:28:23.991076",
        "end_time": "2026-07-18T11:28:33",
        "llvm_project_revision": "265649",
    },
    "tests": [
        {"name": "one", "execution_time": [0.3, 0.1, 0.2], "hash": "49333a87"},
        {"name": "two", "compile_time": 13.5, "score": 7, "execution_status": 0, "own": 3},
    ],
}

# mozilla/treeherder, schemas/performance-artifact.json, and a line of a raptor log.
PERFHERDER: dict[str, Any] = {
    "framework": {"name": "raptor"},
    "application": {"name": "fenix"},
    "suites": [
        {
            "name": "tp6",
            "lowerIsBetter": True,
            "extraOptions": ["warm", "e10s"],
            "value": 594.5,
            "unit": "ms",
            "subtests": [
                {"name": "load", "value": 586.5, "unit": "ms", "replicates": [586.5, 590]},
                {"name": "score", "lowerIsBetter": False, "value": 12, "unit": "score"},
            ],
        }
    ],
}
PERFHERDER_LOG = (
    f"[task 2026] start\n22:31:05     INFO -  PERFHERDER_DATA: {json.dumps(PERFHERDER)}\n"
)

# google/skia-buildbot, perf/FORMAT.md and perf/go/ingest/format/format.go.
SKIA_PERF: dict[str, Any] = {
    "version": 1,
    "git_hash": COMMITS[0],
    "key": {"arch": "x86", "config": "8888"},
    "results": [
        {"key": {"test": "single", "units": "s"}, "measurement": 123.5},
        {
            "key": {"test": "circle"},
            "measurements": {
                "ms": [
                    {"value": "min", "measurement": 1.2},
                    {"value": "median", "measurement": 1.5},
                ]
            },
        },
        {
            "key": {"test": "fps", "unit": "Hz", "improvement_direction": "up"},
            "measurements": {"stat": [{"value": "median", "measurement": 22}]},
        },
    ],
}

# apache/otava, examples/csv/data/local_sample.csv.
OTAVA_CSV = """time,commit,branch,metric1,metric2
2026.01.01 3:00:00 +0100,aaa0,main,154023,10.43
2026.01.02 3:00:00 +0100,aaa1,main,138455,
2026.01.03 3:00:00 +0100,aaa2,main,143112,10.29
"""
PLAIN_CSV = """commit,time,metric,value,unit
aaa0,2026-01-01T02:00:00Z,latency,1.25,ms
aaa0,2026-01-01T02:00:00Z,throughput,800,images/s
aaa1,2026-01-02T02:00:00Z,latency,1.5,ms
aaa1,2026-01-02T02:00:00Z,throughput,,images/s
aaa2,2026-01-03T02:00:00Z,latency,1.26,ms
"""
