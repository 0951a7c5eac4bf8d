"""Reads results saved by `vllm bench`: serve, latency and throughput."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_profiles.benchmark_histories.text import HistoryText

_LATENCY = re.compile(r"(?:mean|median|p\d{1,2}(?:\.\d+)?)_(?:ttft|tpot|itl|e2el)_ms")
# Throughputs and their units; versions before 0.6 wrote the goodput's key with a colon.
_RATES = {
    "request_throughput": "requests/s",
    "request_goodput": "requests/s",
    "request_goodput:": "requests/s",
    "output_throughput": "tokens/s",
    "total_token_throughput": "tokens/s",
    "requests_per_second": "requests/s",
    "tokens_per_second": "tokens/s",
}
_IDENTITY = ("backend", "request_rate", "max_concurrency", "num_prompts")
_DATE = "%Y%m%d-%H%M%S"  # local time of the client
_SIGNS = ("mean_ttft_ms", "request_throughput", "requests_per_second", "avg_latency")


def is_vllm(file: HistoryText) -> bool:
    """Return whether this is a result of `vllm bench`."""
    first = file.first_object()
    return any(isinstance(first.get(sign), int | float) for sign in _SIGNS)


def read_vllm_history(file: HistoryText) -> Iterator[BenchmarkResult]:
    """Yield the throughputs and latencies of each result.

    A series is identified by the model and the load. If requests failed, the values are gaps: the
    remaining requests had the server to themselves. If saved with details, the latencies to the
    first token are the samples. The date has no zone and is taken as UTC; the file names no commit.
    """
    for run in file.objects():
        origin = BenchmarkResult(benchmark=_name(run), metric="", value=math.nan, time=_date(run))
        completed, requested = run.optional_number("completed"), run.optional_number("num_prompts")
        share = math.nan if completed < requested else 1.0
        yield from _rates(run, origin, share)
        yield from _latencies(run, origin, share)


def _name(run: JsonObject) -> str:
    model = run.optional_text("model_id") or run.optional_text("model") or "vllm"
    settings = [f"{key}={run.fields[key]}" for key in _IDENTITY if _is_setting(run.fields.get(key))]
    return f"{model} {', '.join(settings)}".strip()


def _is_setting(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _date(run: JsonObject) -> float:
    text = run.optional_text("date")
    try:
        return datetime.strptime(text, _DATE).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return run.time("date")


def _rates(run: JsonObject, origin: BenchmarkResult, share: float) -> Iterator[BenchmarkResult]:
    for key, unit in _RATES.items():
        value = run.optional_number(key)
        if not math.isnan(value):
            yield replace(
                origin,
                metric=key.rstrip(":"),
                value=value * share,
                unit=unit,
                worse=WorseDirection.LOWER,
            )


def _latencies(run: JsonObject, origin: BenchmarkResult, share: float) -> Iterator[BenchmarkResult]:
    time = replace(origin, unit="s", worse=WorseDirection.HIGHER)
    details = run.numbers("ttfts")
    for key in run.fields:
        value = run.optional_number(key) if _LATENCY.fullmatch(key) else math.nan
        if not math.isnan(value):
            samples = details if "ttft" in key else ()
            metric = key.removesuffix("_ms")
            yield replace(time, metric=metric, value=value / 1000 * share, samples=samples)
    average = run.optional_number("avg_latency")
    if not math.isnan(average):
        samples = run.numbers("latencies")
        yield replace(time, metric="avg_latency", value=average * share, samples=samples)
