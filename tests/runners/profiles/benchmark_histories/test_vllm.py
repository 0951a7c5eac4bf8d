"""Results of `vllm bench`, with the keys that it writes."""

import math

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from perfledger_profiles.benchmark_histories.vllm import is_vllm, read_vllm_history
from tests.runners.profiles.history_samples import VLLM_SERVE


def test_throughputs_and_latencies_are_series_of_the_model_and_the_load(parsed):
    results = {one.metric: one for one in read_vllm_history(parsed(VLLM_SERVE))}

    rate, latency = results["output_throughput"], results["median_ttft"]
    assert (rate.value, rate.unit, rate.worse) == (84.5, "tokens/s", WorseDirection.LOWER)
    assert (latency.value, latency.unit, latency.worse) == (0.02, "s", WorseDirection.HIGHER)
    assert latency.samples == (0.019, 0.02, 0.02, 0.0205)
    assert results["median_itl"].samples == ()
    assert rate.benchmark == (
        "llama-8b backend=openai-chat, request_rate=inf, max_concurrency=1, num_prompts=4"
    )
    assert rate.time == 1779536766.0  # 2026-05-23 11:46:06, taken as UTC
    assert not {"std_ttft", "request_goodput"} & set(results)


def test_where_requests_failed_the_values_are_gaps(parsed):
    results = list(read_vllm_history(parsed(VLLM_SERVE | {"completed": 3})))

    assert results
    assert all(math.isnan(one.value) for one in results)


def test_the_latency_and_throughput_benchmarks_are_read(parsed):
    latency = {"avg_latency": 1.5, "latencies": [1.4, 1.6], "percentiles": {"50": 1.5}}
    throughput = {"elapsed_time": 2.0, "requests_per_second": 4.0, "tokens_per_second": 900.0}

    (time,) = read_vllm_history(parsed(latency))
    rates = list(read_vllm_history(parsed(throughput)))

    assert (time.value, time.samples, time.unit) == (1.5, (1.4, 1.6), "s")
    assert [(one.value, one.unit) for one in rates] == [(4.0, "requests/s"), (900.0, "tokens/s")]


def test_a_result_is_known_by_its_rates(parsed):
    assert is_vllm(parsed(VLLM_SERVE))
    assert not is_vllm(parsed({"request_throughput": "high"}))


def test_a_latency_that_is_a_text_is_named(parsed):
    with pytest.raises(HistoryFileError, match="'median_ttft_ms' is not a number"):
        list(read_vllm_history(parsed(VLLM_SERVE | {"median_ttft_ms": "20"})))


def test_loads_of_a_model_with_a_long_path_stay_apart(parsed):
    long = VLLM_SERVE | {"model_id": "m" * 190}
    names = {
        one.benchmark
        for load in (1, 128)
        for one in read_vllm_history(parsed(long | {"max_concurrency": load}))
    }

    assert len(names) == 2
