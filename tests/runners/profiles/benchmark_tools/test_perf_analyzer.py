"""Exports here are written by hand in the shapes of Perf Analyzer; nothing was recorded."""

import json
import math
from itertools import accumulate

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.genai_load import EVEN_ARRIVALS
from perfledger_profiles.benchmark_tools.perf_analyzer import (
    MAYBE_EVEN_ARRIVALS,
    read_perf_analyzer,
)
from perfledger_profiles.parsing.errors import ProfileError

CSV = """\
Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,\
Server Compute Infer,Client Recv,p50 latency,p90 latency,p99 latency,Avg latency,Avg GPU Utilization
1,138.6,69,2230,64,4600,9,7100,8000,9000,7200,GPU-aa:0.8;
4,200.5,75,2300,9000,4700,9,19000,21000,25000,19500,GPU-aa:0.9;
"""
SECOND = 10**9
BEGIN = 1_700_000_000 * SECOND


def at(time):
    return BEGIN + time if isinstance(time, int) else time


def export(*requests, mode="concurrency", value=4):
    rows = [
        {"timestamp": BEGIN + sent, "response_timestamps": [at(time) for time in times]}
        for sent, times in requests
    ]
    experiment = {"experiment": {"mode": mode, "value": value}, "requests": rows}
    return json.dumps({"experiments": [experiment], "version": "2.6.0", "service_kind": "triton"})


def read(text):
    return read_perf_analyzer(text.encode(), workload="m:f", side=Side.HEAD)


def test_the_report_has_throughput_and_latency_by_load():
    profile = read(CSV)

    assert profile.reading("throughput_inferences", subject="concurrency 4") == 200.5
    assert profile.reading("request_latency_p99", subject="concurrency 4") == pytest.approx(25e-3)
    assert profile.reading("request_latency_mean", subject="concurrency 1") == pytest.approx(7.2e-3)
    assert profile.reading("server_queue_mean", subject="concurrency 4") == pytest.approx(9e-3)
    assert profile.dropped_events == 0


def test_a_report_by_request_rate_says_so():
    profile = read(CSV.replace("Concurrency", "Request Rate"))

    assert profile.reading("throughput_inferences", subject="request_rate 4") == 200.5
    assert MAYBE_EVEN_ARRIVALS in profile.notes


def test_the_memory_of_a_load_is_that_of_its_fullest_device():
    head = "Concurrency,Inferences/Second,p99 latency,Max GPU Memory Usage\n"

    profile = read(head + "2,58.8,598,GPU-8557-aa:872415232;GPU-8557-bb:1.5e+09;\n4,60,700,,\n")

    assert profile.reading("memory_used", subject="concurrency 2") == 1.5e9
    assert profile.reading("memory_used", subject="concurrency 4") is None


@pytest.mark.parametrize(
    ("gaps", "mode", "is_even"),
    [
        ([1.0] * 200, "request_rate", True),
        ([1.0] * 200, "concurrency", False),
        ([-math.log((n + 0.5) / 200) for n in range(200)], "request_rate", False),
        ([0.0], "request_rate", False),
    ],
)
def test_requests_of_an_export_that_were_sent_at_even_times_are_said_to_be_so(gaps, mode, is_even):
    times = [int(time * SECOND) for time in accumulate(gaps)]

    profile = read(export(*((time, [time + 1000]) for time in times), mode=mode, value=1))

    assert (EVEN_ARRIVALS in profile.notes) == is_even


def test_percentiles_are_computed_from_the_requests():
    text = export(*((n * SECOND // 10, [n * SECOND // 10 + (n + 1) * 1000]) for n in range(101)))

    profile = read(text)

    assert profile.reading("request_latency_p50", subject="concurrency 4") == pytest.approx(51e-6)
    assert profile.reading("request_latency_p99", subject="concurrency 4") == pytest.approx(100e-6)
    assert profile.reading("throughput_requests", subject="concurrency 4") == pytest.approx(
        101 / (10 + 101e-6)
    )
    assert profile.reading("ttft_p50", subject="concurrency 4") is None  # not streamed


def test_a_percentile_needs_as_many_requests_as_it_cuts_off():
    profile = read(export(*((0, [1000 * (n + 1)]) for n in range(19))))

    assert profile.reading("request_latency_p90", subject="concurrency 4") is not None
    assert profile.reading("request_latency_p95", subject="concurrency 4") is None
    assert profile.reading("request_latency_p99", subject="concurrency 4") is None


def test_streamed_requests_have_a_time_to_the_first_token():
    profile = read(export((0, [1_000_000, 5_000_000]), (0, [3_000_000, 9_000_000])))

    assert profile.reading("ttft_p50", subject="concurrency 4") == pytest.approx(2e-3)
    assert profile.reading("request_latency_p50", subject="concurrency 4") == pytest.approx(7e-3)


def test_requests_that_cannot_be_are_counted():
    profile = read(export((0, [1000]), (5000, [1000]), (0, []), (0, ["x"]), (0, [2**70])))

    assert profile.reading("requests_completed", subject="concurrency 4") == 1
    assert profile.dropped_events == 4


def test_a_torn_row_is_counted():
    profile = read(CSV[:-60])

    assert profile.dropped_events == 1
    assert profile.reading("throughput_inferences", subject="concurrency 1") == 138.6


@pytest.mark.parametrize(
    "text", ["", "{}", export(), '{"experiments": 3}', '{"experiments": [null, {}]}', "a,b\n1,2"]
)
def test_what_is_no_export_is_refused(text):
    with pytest.raises(ProfileError):
        read(text)


def test_a_load_of_zero_and_a_time_of_zero_are_numbers_and_negative_ones_are_not():
    head = "Request Rate,Inferences/Second,Server Queue,p99 latency\n"

    profile = read(head + "0,0,0,-1\n-1,5,5,5\n")

    readings = {one.name: (one.value, one.subject) for one in profile.readings}
    assert readings == {
        "throughput_inferences": (0, "request_rate 0"),
        "server_queue_mean": (0, "request_rate 0"),
    }
    assert profile.dropped_events == 1


@pytest.mark.parametrize(("last_ns", "completed"), [(2**63 - 1, 2), (2**63, 1)])
def test_a_time_is_a_64_bit_number(last_ns, completed):
    rows = [
        {"timestamp": 0, "response_timestamps": [2**62]},
        {"timestamp": 0, "response_timestamps": [last_ns]},
    ]
    text = json.dumps({"experiments": [{"experiment": {}, "requests": rows}]})

    assert read(text).reading("requests_completed") == completed


def test_one_request_has_a_median_and_no_tail():
    profile = read(export((0, [1000])))

    assert profile.reading("request_latency_p50", subject="concurrency 4") == pytest.approx(1e-6)
    assert profile.reading("request_latency_p95", subject="concurrency 4") is None
