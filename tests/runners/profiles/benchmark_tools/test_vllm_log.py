"""Logs here are written by hand in the shape that vLLM and SGLang print; nothing was recorded."""

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.vllm import read_vllm
from perfledger_profiles.formats import ProfileFormat, detect_format
from perfledger_profiles.parsing.errors import ProfileError

SERVE = """\
INFO 11-21 10:00:00 [api_server.py:1] Starting
============ Serving Benchmark Result ============
Successful requests:                     1024
Failed requests:                         3
Request rate configured (RPS):           16.05
Benchmark duration (s):                  63.81
Total input tokens:                      220902
Total generated tokens:                  191043
Request throughput (req/s):              16.05
Output token throughput (tok/s):         2993.85
Total Token throughput (tok/s):          6455.63
---------------Time to First Token----------------
Mean TTFT (ms):                          564.63
P99 TTFT (ms):                           2301.28
----------------End-to-end Latency----------------
Median E2E Latency (ms):                 5000.0
==================================================
"""


def readings(text):
    return {
        (one.name, one.subject): one.value
        for one in read_vllm(text.encode(), workload="m:f", side=Side.HEAD).readings
    }


def test_a_printed_serving_result_has_its_latencies_and_rates():
    assert readings(SERVE) == {
        ("offered_rate", ""): 16.05,
        ("benchmark_time", ""): 63.81,
        ("requests_completed", ""): 1024,
        ("requests_failed", ""): 3,
        ("input_tokens", ""): 220902,
        ("output_tokens", ""): 191043,
        ("throughput_requests", ""): 16.05,
        ("throughput_tokens", ""): 2993.85,
        ("throughput_total_tokens", ""): 6455.63,
        ("ttft_mean", ""): pytest.approx(0.56463),
        ("ttft_p99", ""): pytest.approx(2.30128),
        ("request_latency_p50", ""): pytest.approx(5.0),
    }


def test_failed_requests_are_noted_of_a_log_too():
    notes = read_vllm(SERVE.encode(), workload="m:f", side=Side.HEAD).notes

    assert notes == ("3 requests failed: the times exclude them",)


def test_several_results_of_one_log_are_told_apart():
    found_readings = readings(SERVE + SERVE.replace("16.05", "32.5"))

    assert found_readings["throughput_requests", "request_rate 32.5"] == 32.5
    assert found_readings["throughput_requests", "request_rate 16.05"] == 16.05


def test_what_throughput_and_latency_print_is_read():
    printed = "Throughput: 37.42 requests/s, 14834.53 total tokens/s, 7417.27 output tokens/s"
    assert readings(printed) == {
        ("throughput_requests", ""): 37.42,
        ("throughput_total_tokens", ""): 14834.53,
    }
    assert readings("Avg latency: 2.5 seconds\n50% percentile latency: 2.25 seconds") == {
        ("request_latency_mean", ""): 2.5,
        ("request_latency_p50", ""): 2.25,
    }


@pytest.mark.parametrize(
    "text", [SERVE, "Throughput: 3.5 requests/s, 14.5 tokens/s", "Avg latency: 2.5 seconds"]
)
def test_a_printed_result_is_known_by_its_content(text):
    assert detect_format(text.encode(), "out.txt") is ProfileFormat.VLLM


@pytest.mark.parametrize("value", ["[result]", "xxx.xx", "nan", "inf", "-5", "1e9", "9" * 40])
def test_a_log_without_usable_numbers_is_refused(value):
    text = f"============ Serving Benchmark Result ============\nMean TTFT (ms):   {value}\n"

    with pytest.raises(ProfileError):
        read_vllm(text.encode(), workload="m:f", side=Side.HEAD)
