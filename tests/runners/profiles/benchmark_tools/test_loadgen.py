"""Logs here are written by hand in the shapes of LoadGen; nothing was recorded."""

import json

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.loadgen import INVALID, NO_VERDICT, read_loadgen
from perfledger_profiles.parsing.errors import ProfileError

SERVER = """\
================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 81.68
Completed tokens per second: 24593.77
Result is : VALID
  Min duration satisfied : Yes

================================================
Additional Stats
================================================
Scheduled samples per second : 83.90
Mean latency (ns)               : 43579602295
99.00 percentile latency (ns)   : 136069232834
99.90 percentile latency (ns)   : 159705402675

Mean First Token latency (ns)               : 918456323
99.00 percentile first token latency (ns)   : 1914647645
Mean Time per Output Token (ns)               : 144594078
99.00 percentile time to output token (ns)   : 193380124

================================================
Test Parameters Used
================================================
samples_per_query : 1
target_qps : 83.5
target_latency (ns): 0
ttft_latency (ns): 2000000000
"""
OFFLINE = """\
MLPerf Results Summary
Scenario : Offline
Samples per second: 92.1544
Result is : INVALID
"""
SINGLE = """\
MLPerf Results Summary
Scenario : SingleStream
90th percentile latency (ns) : 1500000
Result is : VALID
QPS w/ loadgen overhead         : 700.00
"""


def detail(**keys):
    return "\n".join(
        ":::MLLOG "
        + json.dumps({"key": key, "value": value, "time_ms": 1.5, "namespace": "mlperf::logging"})
        for key, value in keys.items()
    )


def read(text):
    return read_loadgen(text.encode(), workload="m:f", side=Side.HEAD)


def test_the_summary_of_a_server_run_has_its_rates_and_latencies():
    profile = read(SERVER)

    readings = {one.name: (one.value, one.unit) for one in profile.readings}
    assert readings == {
        "throughput_samples": (81.68, "1/s"),
        "throughput_tokens": (24593.77, "1/s"),
        "scheduled_samples": (83.9, "1/s"),
        "request_latency_mean": (pytest.approx(43.579602295), "s"),
        "request_latency_p99": (pytest.approx(136.069232834), "s"),
        "request_latency_p99.9": (pytest.approx(159.705402675), "s"),
        "ttft_mean": (pytest.approx(0.918456323), "s"),
        "ttft_p99": (pytest.approx(1.914647645), "s"),
        "tpot_mean": (pytest.approx(0.144594078), "s"),
        "tpot_p99": (pytest.approx(0.193380124), "s"),
        "target_qps": (83.5, "1/s"),
        "target_ttft": (pytest.approx(2.0), "s"),
        "is_valid": (1.0, "1"),
        "max_qps_under_slo": (81.68, "1/s"),
    }
    assert profile.notes == ()


def test_an_invalid_run_says_so_and_claims_nothing():
    profile = read(SERVER.replace("VALID", "INVALID"))

    assert profile.reading("is_valid") == 0
    assert profile.reading("max_qps_under_slo") is None
    assert profile.notes == (INVALID,)


def test_offline_has_samples_per_second_and_no_promise():
    profile = read(OFFLINE)

    assert profile.reading("throughput_samples") == 92.1544
    assert profile.reading("max_qps_under_slo") is None


def test_the_headline_of_a_single_stream_is_a_percentile():
    profile = read(SINGLE)

    assert profile.reading("request_latency_p90") == pytest.approx(1.5e-3)
    assert profile.reading("throughput_samples") == 700


def test_the_detail_log_says_the_same():
    profile = read(
        detail(
            effective_scenario="Server",
            result_validity="VALID",
            result_completed_samples_per_sec=81.68,
            loaded_qsl_set=[1, 2, 3],
            effective_target_qps=83.5,
        )
        + "\n"
        + detail(
            **{
                "result_99.00_percentile_latency_ns": 136069232834,
                "result_first_token_99.00_percentile_latency_ns": 1914647645,
                "result_time_per_output_token_99.00_percentile_ns": 193380124,
                "result_time_to_output_token_mean": 144594078,
            }
        )
    )

    summary = read(SERVER)
    for one in profile.readings:
        assert summary.reading(one.name) == one.value
    assert len(profile.readings) == 8


def test_a_summary_that_is_cut_off_before_its_verdict_says_so():
    profile = read(OFFLINE[: OFFLINE.index("Result is")])

    assert profile.notes == (NO_VERDICT,)
    assert profile.reading("is_valid") is None


@pytest.mark.parametrize("value", ["nan", "-5", "inf", "9" * 100, ""])
def test_a_figure_that_cannot_be_is_left_out(value):
    profile = read(SERVER.replace("136069232834", value))

    assert profile.reading("request_latency_p99") is None
    assert profile.reading("throughput_samples") == 81.68


@pytest.mark.parametrize(
    "text",
    ["", "No warnings encountered during test.", "Result is : VALID", detail(a=1), ":" * 1000],
)
def test_what_has_no_timed_result_is_refused(text):
    with pytest.raises(ProfileError, match="no timed result"):
        read(text)


@pytest.mark.parametrize("nanoseconds", ["0", "0.5", "1"])
def test_a_latency_below_a_nanosecond_is_one(nanoseconds):
    profile = read(SERVER.replace("136069232834", nanoseconds))

    assert profile.reading("request_latency_p99") == pytest.approx(float(nanoseconds) / 1e9)
