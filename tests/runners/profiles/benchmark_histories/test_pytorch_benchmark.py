"""Records of PyTorch's benchmark database, in the shape of its own tests."""

import json
import math

import pytest

from perfledger_profiles.benchmark_histories.pytorch_benchmark import read_pytorch_benchmark
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import COMMITS, PYTORCH_V3

LINES = "".join(f"{json.dumps(record)}\n" for record in PYTORCH_V3)
MIXED = f"{json.dumps(PYTORCH_V3[0])}\n{json.dumps(PYTORCH_V3[1:])}\n"


@pytest.mark.parametrize("content", [PYTORCH_V3, LINES, MIXED])
def test_a_list_and_lines_are_the_same_records(parsed, content):
    results = list(read_pytorch_benchmark(parsed(content)))

    assert [one.commit for one in results] == list(COMMITS)
    assert [one.time for one in results] == [1767600000.0, 1767600001.0, 1767600002.0]
    assert {(one.value, one.samples) for one in results} == {(2.0, (3.0, 1.0, 2.0))}
    name = "pr_time_benchmarks add_loop_eager backend=eager mode=training dtype=bf16 device=cuda"
    metric, machine = "compile_time_instruction_count", "cuda NVIDIA H100 80GB HBM3"
    assert {one.key for one in results} == {(f"{name} is_dynamic=False", metric, machine, "")}
    assert {one.worse for one in results} == {None}


def test_a_record_that_was_not_uploaded_has_no_commit_and_no_time(parsed):
    record = {"benchmark": {"name": "b"}, "metric": {"name": "m", "benchmark_values": []}}

    (result,) = read_pytorch_benchmark(parsed([record]))

    assert (result.commit, result.machine) == ("", "")
    assert math.isnan(result.value)
    assert math.isnan(result.time)


def test_milliseconds_are_no_timestamp(parsed):
    record = PYTORCH_V3[0] | {"timestamp": 1767600000000}

    with pytest.raises(HistoryFileError, match="not a time in seconds since 1970"):
        list(read_pytorch_benchmark(parsed([record])))


def test_what_the_metric_states_beside_its_name_tells_series_apart(parsed):
    records = [
        {
            "benchmark": {"name": "ExecuTorch", "extra_info": {"config": "x" * 50, "app": "IOS"}},
            "model": {"name": "edsr", "backend": "xnnpack_q8"},
            "metric": {
                "name": "load_time(ms)",
                "benchmark_values": [1],
                "extra_info": {"method": method},
            },
            "runners": [{"name": "Apple iPhone 15", "type": "iOS 18.0"}],
        }
        for method in ("forward", "encode")
    ]

    first, second = read_pytorch_benchmark(parsed(records))

    name = "ExecuTorch edsr backend=xnnpack_q8 app=IOS"
    assert (first.benchmark, second.benchmark) == (
        f"{name} method=forward",
        f"{name} method=encode",
    )
    assert first.machine == "Apple iPhone 15 iOS 18.0"
