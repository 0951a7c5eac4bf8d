"""Reads the saved and printed results of vLLM's and SGLang's benchmarks."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from perfledger.profile import Profile, ProfileReading
from perfledger.records import Side
from perfledger.rounding import for_programs, typed
from perfledger_profiles.benchmark_tools.genai_load import EVEN_ARRIVALS
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.json_documents import (
    MAX_JSON_BYTES,
    Document,
    JsonDocuments,
    document_of,
    documents_in,
    figure_of,
)
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.parsing.units import MILLI, number_or_none
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "vllm"
FAILED = "{} requests failed: the times exclude them"
BURSTY = "requests were sent in bursts (burstiness below 1), so the P99 is longer than at random"

_RANDOM = 1.0  # the shape parameter at which gamma-distributed intervals are exponential
_HUNDRED = 100
# "mean_ttft_ms", "p99_tpot_ms"; SGLang writes "e2e_latency" for vLLM's "e2el".
_LATENCY = re.compile(r"(mean|median|std|p\d{1,2}(?:\.\d+)?)_(ttft|tpot|itl|e2el|e2e_latency)_ms")
_STATISTICS = {"median": "p50"}
_LATENCIES = {"e2el": "request_latency", "e2e_latency": "request_latency"}
# Key, reading and unit: of `vllm bench serve`, then of `throughput`.
_FIGURES = (
    ("request_rate", "offered_rate", "1/s"),
    ("max_concurrency", "max_concurrency", "1"),
    ("duration", "benchmark_time", "s"),
    ("completed", "requests_completed", "1"),
    ("failed", "requests_failed", "1"),
    ("total_input_tokens", "input_tokens", "1"),
    ("total_output_tokens", "output_tokens", "1"),
    ("request_throughput", "throughput_requests", "1/s"),
    ("request_goodput", "goodput_requests", "1/s"),
    ("request_goodput:", "goodput_requests", "1/s"),
    ("output_throughput", "throughput_tokens", "1/s"),
    ("total_token_throughput", "throughput_total_tokens", "1/s"),
    ("max_output_tokens_per_s", "throughput_tokens_max", "1/s"),
    ("elapsed_time", "benchmark_time", "s"),
    ("num_requests", "requests_completed", "1"),
    ("requests_per_second", "throughput_requests", "1/s"),
    ("tokens_per_second", "throughput_total_tokens", "1/s"),
    # Of `vllm bench latency`, where a request is one batch.
    ("avg_latency", "request_latency_mean", "s"),
    ("std_latency", "request_latency_std", "s"),
)
# Keys that identify a result among other JSON.
_RESULT_KEYS = ("request_throughput", "requests_per_second", "avg_latency", "mean_ttft_ms")
# Settings that may distinguish the runs of one file; the first that does is the subject.
_SETTINGS = ("max_concurrency", "request_rate", "concurrency", "num_prompts")

_BEGINS = "= Serving Benchmark Result ="
_NUMBER = r"(\d{1,18}(?:\.\d{1,9})?)"
_LINE = re.compile(rf"\s*([A-Z][\w ./]*(?:\([^()]*\))?):\s+{_NUMBER}\s*")
_LATENCY_LABEL = re.compile(
    r"(mean|median|std|p\d{1,2}(?:\.\d+)?) (ttft|tpot|itl|e2el|e2e latency) \(ms\)"
)
# Labels in lower case, because vLLM changed their case, with the keys of `--save-result`.
_KEYS = {
    "successful requests": "completed",
    "failed requests": "failed",
    "request rate configured (rps)": "request_rate",
    "traffic request rate": "request_rate",
    "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency",
    "benchmark duration (s)": "duration",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "request throughput (req/s)": "request_throughput",
    "request goodput (req/s)": "request_goodput",
    "output token throughput (tok/s)": "output_throughput",
    "peak output token throughput (tok/s)": "max_output_tokens_per_s",
    "total token throughput (tok/s)": "total_token_throughput",
}
# The output of `vllm bench throughput` and `latency`.
_THROUGHPUT = re.compile(rf"\s*Throughput: {_NUMBER} requests/s, {_NUMBER} (?:total )?tokens/s.*")
_AVERAGE = re.compile(rf"\s*Avg latency: {_NUMBER} seconds\s*")
_PERCENTILE = re.compile(rf"\s*(\d{{1,2}})% percentile latency: {_NUMBER} seconds\s*")


def read_vllm(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the times and rates of one run, or of several appended to one file.

    With several runs the subject is the setting that distinguishes them, else "run 1", "run 2".
    Raises ProfileError if the file is not such a result.
    """
    text = read_text(data, max_bytes=MAX_JSON_BYTES)
    logged = logged_runs(text.lines)
    read = JsonDocuments(documents=logged, notes=text.notes) if logged else documents_in(text)
    runs = [one for one in read.documents if any(key in one for key in _RESULT_KEYS)]
    if not runs:
        msg = "this file has no result of a vLLM benchmark: save it with --save-result"
        raise ProfileError(msg)
    readings = [
        reading
        for subject, run in zip(_subjects(runs), runs, strict=True)
        for reading in _readings(run, subject)
    ]
    failed = sum(filter(None, (figure_of(run.get("failed")) for run in runs)))
    doubts: tuple[str, ...] = (FAILED.format(typed(failed)),) if failed > 0 else ()
    burstiness = [figure_of(run.get("burstiness")) or _RANDOM for run in runs]
    doubts += (BURSTY,) if min(burstiness) < _RANDOM else ()
    doubts += (EVEN_ARRIVALS,) if max(burstiness) > _RANDOM else ()
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        dropped=read.dropped,
        notes=(*read.notes, *doubts),
    )


def logged_runs(lines: Sequence[str]) -> tuple[Document, ...]:
    """Return the results printed in a log, under the keys of the JSON; numbers are as printed."""
    runs: list[dict[str, object]] = []
    for line in lines:
        if _BEGINS in line or _AVERAGE.fullmatch(line) or _THROUGHPUT.fullmatch(line):
            runs.append({})
        if runs:
            runs[-1].update(_parse_line(line, runs[-1]))
    return tuple(run for run in runs if run)


def _parse_line(line: str, run: Document) -> Document:
    if match := _THROUGHPUT.fullmatch(line):
        return {"requests_per_second": float(match[1]), "tokens_per_second": float(match[2])}
    if match := _AVERAGE.fullmatch(line):
        return {"avg_latency": float(match[1])}
    if match := _PERCENTILE.fullmatch(line):
        before = document_of(run.get("percentiles"))
        return {"percentiles": {**before, match[1]: float(match[2])}}
    match = _LINE.fullmatch(line)
    key = _key(match[1].lower()) if match else None
    return {key: float(match[2])} if match and key else {}


def _key(label: str) -> str | None:
    latency = _LATENCY_LABEL.fullmatch(label)
    if latency:
        return f"{latency[1]}_{latency[2].replace(' ', '_')}_ms"
    return _KEYS.get(label)


def _subjects(runs: Sequence[Document]) -> Sequence[str]:
    if len(runs) == 1:
        return ("",)
    for setting in _SETTINGS:
        values = [str(run.get(setting))[:40] for run in runs]
        if len(set(values)) == len(runs):
            return [clean_name(f"{setting} {value}") for value in values]
    return [f"run {number}" for number in range(1, len(runs) + 1)]


def _readings(run: Document, subject: str) -> Iterator[ProfileReading]:
    for key, name, unit in _FIGURES:
        value = figure_of(run.get(key))
        if value is not None and value >= 0:
            yield ProfileReading(name=name, value=value, unit=unit, subject=subject, source=key)
    yield from _latencies(run, partial(ProfileReading, unit="s", subject=subject))
    for percent, value in _percentiles(run).items():
        name = f"request_latency_p{for_programs(percent)}"
        yield ProfileReading(
            name=name, value=value, unit="s", subject=subject, source="percentiles"
        )


def _latencies(run: Document, reading: "partial[ProfileReading]") -> Iterator[ProfileReading]:
    for key, cell in run.items():
        match = _LATENCY.fullmatch(key)
        value = figure_of(cell)
        if match and value is not None and value >= 0:
            kind = _LATENCIES.get(match[2], match[2])
            statistic = _STATISTICS.get(match[1], match[1])
            yield reading(name=f"{kind}_{statistic}", value=value * MILLI, source=key)


def _percentiles(run: Document) -> Mapping[float, float]:
    percentiles: dict[float, float] = {}
    for key, cell in document_of(run.get("percentiles")).items():
        value = figure_of(cell)
        percent = number_or_none(key)
        if percent is not None and 0 <= percent <= _HUNDRED and value is not None and value >= 0:
            percentiles[percent] = value
    return percentiles
