"""Exports here are written by hand in the shapes of GenAI-Perf; nothing was recorded."""

import json

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.genai_load import EVEN_ARRIVALS
from perfledger_profiles.benchmark_tools.genai_perf import read_genai_perf
from perfledger_profiles.parsing.errors import ProfileError

JSON = {
    "request_throughput": {"unit": "requests/sec", "avg": 12.5},
    "request_latency": {"unit": "ms", "avg": 500.0, "p99": 900.0, "p50": 480.0, "min": 100.0},
    "time_to_first_token": {"unit": "ms", "avg": 30.0, "p99": 60.0},
    "inter_token_latency": {"unit": "ms", "avg": 8.0, "p90": 9.5},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 2400.0},
    "output_sequence_length": {"unit": "tokens", "avg": 128.0},
    "request_count": {"unit": "count", "avg": 100.0},
    "telemetry_stats": {
        "gpu_power_usage": {
            "unit": "W",
            "gpu0": {"avg": 300.0, "p99": 400.0},
            "gpu1": {"avg": 1.0},
        },
        "energy_consumption": {"unit": "MJ", "gpu0": {"avg": 0.002}},
        "gpu_utilization": {"unit": "%", "gpu0": {"avg": 80.0}},
    },
    "input_config": {"endpoint": {"url": "secret"}, "unit": 3},
}
CSV = """\
Metric,avg,min,max,p99,p50
Time To First Token (ms),30.00,20.00,70.00,60.00,29.00
Request Latency (ms),"1,500.00",100.00,"2,000.00","1,900.00",N/A
Output Sequence Length (tokens),128.00,1.00,256.00,255.00,128.00

Metric,Value
Output Token Throughput (tokens/sec),"2,400.00"
Request Throughput (per sec),12.50
Request Count (count),100.00

Metric,GPU,avg,min,max,p99,p50
GPU Power Usage (W),gpu0,300.00,1.00,1.00,400.00,1.00
Gpu Memory Used (GB),gpu0,70.00,1.00,1.00,1.00,1.00
"""


SWEEP = """\
Config Name,Concurrency,ISL,Num Prompts,p99 Time To First Token (ms),p99 Request Latency (ms),\
p99 Output Sequence Length (tokens),Avg. Output Token Throughput (tokens/sec),\
Request Throughput (requests/sec)
run_0,32,200,100,184.4,3406.2,125.0,1130,10.1
run_1,1,201,100,33.5,780.0,132.1,149.6,1.3

Config Name,GPU,p99 GPU Power Usage (W),p99 GPU Memory Used (GB)
run_0,gpu0,80.4,22.6
"""


def read(text):
    return read_genai_perf(text.encode(), workload="m:f", side=Side.HEAD)


def test_the_json_export_has_its_statistics_in_si_units():
    profile = read(json.dumps(JSON, indent=2))

    assert profile.reading("throughput_requests") == 12.5
    assert profile.reading("throughput_tokens") == 2400.0
    assert profile.reading("request_latency_p99") == pytest.approx(0.9)
    assert profile.reading("request_latency_mean") == pytest.approx(0.5)
    assert profile.reading("ttft_p99") == pytest.approx(0.06)
    assert profile.reading("itl_p90") == pytest.approx(0.0095)
    assert profile.reading("requests_completed") == 100
    assert profile.reading("output_sequence_length_mean") == 128
    assert "secret" not in repr(profile)


def test_telemetry_is_by_device():
    profile = read(json.dumps(JSON))

    assert profile.reading("power", subject="gpu 0") == 300.0
    assert profile.reading("power_p99", subject="gpu 0") == 400.0
    assert profile.reading("power", subject="gpu 1") == 1.0
    assert profile.reading("energy_total", subject="gpu 0") == pytest.approx(2000.0)
    assert profile.reading("gpu_busy", subject="gpu 0") == pytest.approx(0.8)


def test_the_csv_export_has_the_same_readings():
    profile = read(CSV)

    assert profile.reading("ttft_p99") == pytest.approx(0.06)
    assert profile.reading("request_latency_p99") == pytest.approx(1.9)
    assert profile.reading("request_latency_p50") is None  # "N/A"
    assert profile.reading("throughput_tokens") == 2400.0
    assert profile.reading("throughput_requests") == 12.5
    assert profile.reading("power", subject="gpu 0") == 300.0
    assert profile.reading("memory_used", subject="gpu 0") == pytest.approx(70e9)
    assert profile.dropped_events == 0


def test_the_table_of_a_sweep_has_a_load_a_row():
    profile = read(SWEEP)

    assert profile.reading("request_latency_p99", subject="concurrency 1") == pytest.approx(0.78)
    assert profile.reading("throughput_requests", subject="concurrency 32") == 10.1
    assert profile.reading("throughput_tokens", subject="concurrency 32") == 1130.0
    assert profile.reading("ttft_p99", subject="concurrency 1") == pytest.approx(0.0335)
    assert profile.dropped_events == 0


def test_of_a_sweep_of_lengths_each_length_is_a_workload():
    profile = read(SWEEP.replace("run_1,1,", "run_1,32,"))

    subject = "ISL 201 Num Prompts 100 batch 1 concurrency 32"
    assert profile.reading("request_latency_p99", subject=subject) == pytest.approx(0.78)


def test_a_sweep_of_rates_is_at_even_times_and_a_torn_row_is_counted():
    profile = read(SWEEP.replace("Concurrency", "Request Rate").replace(",125.0,1130,10.1", ""))

    assert EVEN_ARRIVALS in profile.notes
    assert profile.dropped_events == 1
    assert {one.subject for one in profile.readings} == {"request_rate 1"}


def test_metrics_under_records_are_read_too():
    text = json.dumps({"records": {"request_latency": {"unit": "ms", "p50": 4.0}}})

    assert read(text).reading("request_latency_p50") == pytest.approx(0.004)


def test_a_unit_that_is_not_known_is_no_reading():
    text = json.dumps(JSON | {"request_latency": {"unit": "furlongs", "avg": 1.0}})

    assert read(text).reading("request_latency_mean") is None


def test_a_torn_row_is_counted():
    profile = read(CSV[:-20])

    assert profile.dropped_events == 1
    assert profile.reading("memory_used", subject="gpu 0") is None


@pytest.mark.parametrize("text", ["", "{}", "Metric,avg\n", "a,b\n1,2\n", '{"a": {"unit": "ms"}}'])
def test_what_is_no_export_is_refused(text):
    with pytest.raises(ProfileError):
        read(text)
