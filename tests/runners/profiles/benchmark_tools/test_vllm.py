"""Results here are written by hand in the shape that vLLM saves; nothing was recorded."""

import json

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.genai_load import EVEN_ARRIVALS
from perfledger_profiles.benchmark_tools.vllm import BURSTY, read_vllm
from perfledger_profiles.parsing.errors import ProfileError

SERVE = {
    "date": "20261121-100000",
    "backend": "vllm",
    "model_id": "/home/somebody/llama",
    "num_prompts": 200,
    "request_rate": "inf",
    "max_concurrency": 32,
    "duration": 10.5,
    "completed": 200,
    "failed": 0,
    "total_input_tokens": 51200,
    "total_output_tokens": 25600,
    "request_throughput": 19.05,
    "request_goodput": None,
    "output_throughput": 2438.1,
    "total_token_throughput": 7314.3,
    "mean_ttft_ms": 120.5,
    "median_ttft_ms": 110.0,
    "std_ttft_ms": 20.0,
    "p99_ttft_ms": 240.0,
    "median_tpot_ms": 12.5,
    "p99.9_itl_ms": 80.0,
    "p99_e2el_ms": 5000.0,
    "itls": [[0.01, 0.02]],
    "generated_texts": ["secret"],
}


def read(*runs):
    text = "\n".join(json.dumps(run) for run in runs)
    return read_vllm(text.encode(), workload="m:f", side=Side.HEAD)


@pytest.mark.parametrize(
    ("burstiness", "text"),
    [(1.0, ()), (0.5, (BURSTY,)), (4, (EVEN_ARRIVALS,)), (None, ()), ("x", ())],
)
def test_requests_that_did_not_come_at_random_times_are_said_to_be_so(burstiness, text):
    assert read(SERVE | {"burstiness": burstiness}).notes == text


def test_a_serving_result_has_its_latencies_and_rates():
    profile = read(SERVE)

    readings = {one.name: (one.value, one.unit) for one in profile.readings}
    assert readings == {
        "max_concurrency": (32, "1"),
        "benchmark_time": (10.5, "s"),
        "requests_completed": (200, "1"),
        "requests_failed": (0, "1"),
        "input_tokens": (51200, "1"),
        "output_tokens": (25600, "1"),
        "throughput_requests": (19.05, "1/s"),
        "throughput_tokens": (2438.1, "1/s"),
        "throughput_total_tokens": (7314.3, "1/s"),
        "ttft_mean": (pytest.approx(0.1205), "s"),
        "ttft_p50": (pytest.approx(0.11), "s"),
        "ttft_std": (pytest.approx(0.02), "s"),
        "ttft_p99": (pytest.approx(0.24), "s"),
        "tpot_p50": (pytest.approx(0.0125), "s"),
        "itl_p99.9": (pytest.approx(0.08), "s"),
        "request_latency_p99": (pytest.approx(5.0), "s"),
    }
    assert not profile.has_steps
    assert "secret" not in repr(profile)
    assert "somebody" not in repr(profile)


def test_sglangs_name_for_the_whole_latency_is_the_same_reading():
    profile = read({"request_throughput": 1.0, "median_e2e_latency_ms": 250.0})

    assert profile.reading("request_latency_p50") == pytest.approx(0.25)


def test_runs_that_were_appended_are_told_apart_by_their_load():
    profile = read(SERVE, SERVE | {"max_concurrency": 64, "request_throughput": 30.0})

    assert profile.reading("throughput_requests", subject="max_concurrency 32") == 19.05
    assert profile.reading("throughput_requests", subject="max_concurrency 64") == 30.0


def test_runs_with_one_load_are_numbered():
    profile = read(SERVE, SERVE | {"request_throughput": 20.0})

    assert profile.reading("throughput_requests", subject="run 2") == 20.0


def test_the_result_of_the_latency_benchmark_is_in_seconds():
    profile = read({"avg_latency": 1.5, "latencies": [1, 2], "percentiles": {"10": 1.1, "99": 2.0}})

    assert profile.reading("request_latency_mean") == 1.5
    assert profile.reading("request_latency_p99") == 2.0


def test_the_result_of_the_throughput_benchmark_has_its_rates():
    profile = read({"elapsed_time": 2.0, "requests_per_second": 4.0, "tokens_per_second": 512.0})

    assert profile.reading("throughput_requests") == 4.0
    assert profile.reading("throughput_total_tokens") == 512.0


def test_failed_requests_are_noted():
    assert read(SERVE | {"failed": 3}).notes == ("3 requests failed: the times exclude them",)


def test_values_of_a_wrong_type_are_left_out():
    profile = read(SERVE | {"p99_ttft_ms": "slow", "mean_ttft_ms": True, "duration": [1]})

    assert profile.reading("ttft_p99") is None
    assert profile.reading("ttft_mean") is None
    assert profile.reading("throughput_requests") == 19.05


def test_nan_as_python_writes_it_is_left_out():
    data = b'{"request_throughput": 1.0, "p99_ttft_ms": NaN}'

    profile = read_vllm(data, workload="m:f", side=Side.HEAD)

    assert [one.name for one in profile.readings] == ["throughput_requests"]


def test_a_run_that_was_cut_off_costs_itself():
    data = json.dumps(SERVE) + "\n" + json.dumps(SERVE)[:-30]

    profile = read_vllm(data.encode(), workload="m:f", side=Side.HEAD)

    assert profile.dropped_events == 1
    assert profile.reading("throughput_requests") == 19.05


@pytest.mark.parametrize("text", ["{}", '{"a": 1}', "[]", "", "x", '{"avg_latency": null}'])
def test_what_is_no_result_is_refused(text):
    with pytest.raises(ProfileError):
        read_vllm(text.encode(), workload="m:f", side=Side.HEAD)


def test_percentiles_are_of_0_to_100_percent():
    cells = {"0": 1.0, "100": 9.0, "-1": 2.0, "100.1": 3.0, "50": -1.0}

    profile = read(SERVE | {"percentiles": cells})

    readings = {one.name: one.value for one in profile.readings if one.source == "percentiles"}
    assert readings == {"request_latency_p0": 1.0, "request_latency_p100": 9.0}


def test_a_single_request_that_failed_is_told():
    (note,) = read(SERVE | {"failed": 1}).notes

    assert "1" in note
    assert read(SERVE).notes == ()
