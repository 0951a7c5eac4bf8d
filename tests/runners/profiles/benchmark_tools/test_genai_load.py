"""Settings in the shapes of GenAI-Perf and AIPerf, written by hand; nothing was recorded."""

import json

import pytest

from perfledger.records import Side
from perfledger_profiles.benchmark_tools.genai_load import EVEN_ARRIVALS
from perfledger_profiles.benchmark_tools.genai_perf import read_genai_perf

WARM_UP = {"type": "concurrency", "concurrency": 2, "exclude_from_results": True}


def read(settings, **others):
    document = {"request_latency": {"unit": "ms", "p99": 900.0}, "input_config": settings}
    text = json.dumps(document | others)
    return read_genai_perf(text.encode(), workload="m:f", side=Side.HEAD)


def phase(**values):
    return values | {"exclude_from_results": False}


@pytest.mark.parametrize(
    ("settings", "rate", "concurrency"),
    [
        ({"concurrency": 32, "request_rate": None}, None, 32),
        ({"perf_analyzer": {"stimulus": {"concurrency": 1}}}, None, 1),
        ({"perf_analyzer": {"stimulus": {"request_rate": 10.5}}}, 10.5, None),
        ({"loadgen": {"concurrency": 100, "request_rate_mode": "concurrency_burst"}}, None, 100),
        ({"loadgen": {"concurrency": 64, "request_rate": 4.0}}, 4.0, 64),
        ({"phases": [phase(type="concurrency", concurrency=1000)]}, None, 1000),
        ({"phases": [WARM_UP, phase(type="poisson", rate=20.0)]}, 20.0, None),
        ({"phases": [phase(concurrency=1), phase(concurrency=2)]}, None, None),
        ({"phases": "x", "loadgen": [], "perf_analyzer": {"stimulus": "concurrency"}}, None, None),
        ({"concurrency": "8", "loadgen": {"request_rate": -1}}, None, None),
        ([], None, None),
    ],
)
def test_the_load_is_where_each_version_of_the_tools_writes_it(settings, rate, concurrency):
    profile = read(settings)

    assert profile.reading("offered_rate") == rate
    assert profile.reading("max_concurrency") == concurrency


@pytest.mark.parametrize(
    ("settings", "is_even"),
    [
        ({"perf_analyzer": {"stimulus": {"request_rate": 10.0}}}, True),
        ({"loadgen": {"request_rate": 10.0, "request_rate_mode": "constant"}}, True),
        ({"loadgen": {"request_rate": 10.0, "request_rate_mode": "poisson"}}, False),
        ({"phases": [phase(type="poisson", rate=20.0)]}, False),
        ({"loadgen": {"concurrency": 3, "request_rate_mode": "concurrency_burst"}}, False),
    ],
)
def test_requests_at_even_times_are_said_to_be_so(settings, is_even):
    assert (EVEN_ARRIVALS in read(settings).notes) == is_even


def test_requests_that_the_tool_broke_off_itself_did_not_fail():
    errors = [
        {"error_details": {"type": "RequestCancellationError"}, "count": 11},
        {"error_details": {"type": "TimeoutError"}, "count": 3},
        "x",
    ]

    profile = read({}, error_request_count={"unit": "requests", "avg": 14.0}, error_summary=errors)

    assert profile.reading("requests_failed") == 3
    assert "3 requests failed: the times exclude them" in profile.notes
