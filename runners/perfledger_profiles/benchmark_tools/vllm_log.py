"""Parses the printed results of vLLM's and SGLang's benchmarks, with the keys of their JSON."""

import re
from collections.abc import Sequence

from perfledger_profiles.parsing.json_documents import Document, document_of

_BEGINS = "= Serving Benchmark Result ="
_NUMBER = r"(\d{1,18}(?:\.\d{1,9})?)"
_LINE = re.compile(rf"\s*([A-Z][\w ./]*(?:\([^()]*\))?):\s+{_NUMBER}\s*")
_LATENCY = re.compile(
    r"(mean|median|std|p\d{1,2}(?:\.\d+)?) (ttft|tpot|itl|e2el|e2e latency) \(ms\)"
)
# Labels in lower case, because vLLM changed their case, and the keys of `--save-result`.
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


def logged_runs(lines: Sequence[str]) -> tuple[Document, ...]:
    """Return the results in a log in order; numbers are as printed."""
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
    latency = _LATENCY.fullmatch(label)
    if latency:
        return f"{latency[1]}_{latency[2].replace(' ', '_')}_ms"
    return _KEYS.get(label)
