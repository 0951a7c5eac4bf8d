"""Turn what the benchmarks of vLLM and SGLang print into documents with the keys of their JSON."""

import re
from collections.abc import Sequence

from perfledger_profiles.documents import Document, document_of

_BEGINS = "= Serving Benchmark Result ="
_NUMBER = r"(\d{1,18}(?:\.\d{1,9})?)"
_LINE = re.compile(rf"\s*([A-Z][\w ./]*(?:\([^()]*\))?):\s+{_NUMBER}\s*")
_LATENCY = re.compile(
    r"(mean|median|std|p\d{1,2}(?:\.\d+)?) (ttft|tpot|itl|e2el|e2e latency) \(ms\)"
)
# Labels in lower case, since vLLM itself changed theirs, and the keys of `--save-result`.
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
# What `vllm bench throughput` and `latency` print.
_THROUGHPUT = re.compile(rf"\s*Throughput: {_NUMBER} requests/s, {_NUMBER} (?:total )?tokens/s.*")
_AVERAGE = re.compile(rf"\s*Avg latency: {_NUMBER} seconds\s*")
_PERCENTILE = re.compile(rf"\s*(\d{{1,2}})% percentile latency: {_NUMBER} seconds\s*")


def logged_runs(lines: Sequence[str]) -> tuple[Document, ...]:
    """Return each result that a log tells, in their order; numbers are as they were printed."""
    runs: list[dict[str, object]] = []
    for line in lines:
        if _BEGINS in line or _AVERAGE.fullmatch(line) or _THROUGHPUT.fullmatch(line):
            runs.append({})
        if runs:
            runs[-1].update(_told(line, runs[-1]))
    return tuple(run for run in runs if run)


def _told(line: str, run: Document) -> Document:
    if found := _THROUGHPUT.fullmatch(line):
        return {"requests_per_second": float(found[1]), "tokens_per_second": float(found[2])}
    if found := _AVERAGE.fullmatch(line):
        return {"avg_latency": float(found[1])}
    if found := _PERCENTILE.fullmatch(line):
        before = document_of(run.get("percentiles"))
        return {"percentiles": {**before, found[1]: float(found[2])}}
    found = _LINE.fullmatch(line)
    key = _key(found[1].lower()) if found else None
    return {key: float(found[2])} if found and key else {}


def _key(label: str) -> str | None:
    latency = _LATENCY.fullmatch(label)
    if latency:
        return f"{latency[1]}_{latency[2].replace(' ', '_')}_ms"
    return _KEYS.get(label)
