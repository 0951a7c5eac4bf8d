"""Reads the CSV report and the JSON export of Triton's Perf Analyzer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from perfledger.profile import Profile, ProfileReading
from perfledger.records import Side
from perfledger.rounding import for_programs
from perfledger_profiles.benchmark_tools.genai_load import EVEN_ARRIVALS
from perfledger_profiles.parsing.csv_lines import rows_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.json_documents import (
    MAX_JSON_BYTES,
    Document,
    document_of,
    documents_in,
    figure_of,
    is_json,
    values_of,
)
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.parsing.units import MICRO, NANO, number_or_none
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "perf_analyzer"

_NOT_ONE = "this file has no load of Perf Analyzer: write it with -f or --profile-export-file"
_MAX_NS = 2**63
LOADS = {"Concurrency": "concurrency", "Request Rate": "request_rate"}
# A request has one inference per item of its batch (-b), which no report contains.
_RATES = {
    "Inferences/Second": "throughput_inferences",
    "Response Throughput": "throughput_responses",
}
_MEMORY = "Max GPU Memory Usage"  # "GPU-aa:872415232;GPU-bb:872415232;", in bytes
_OF_A_DEVICE = re.compile(r"GPU-[\w-]{1,64}:(\d{1,18}(?:\.\d{1,9})?(?:e\+\d\d?)?);")
# Mean microseconds of a request; other columns, such as a list of devices, are not read.
_PARTS = {
    "Client Send": "client_send_mean",
    "Network+Server Send/Recv": "network_mean",
    "Server Queue": "server_queue_mean",
    "Server Compute Input": "server_input_mean",
    "Server Compute Infer": "server_compute_mean",
    "Server Compute Output": "server_output_mean",
    "Client Recv": "client_receive_mean",
    "Avg latency": "request_latency_mean",
}
_PERCENTILE = re.compile(r"p(\d{1,2}) latency")
_QUANTILES = (50, 90, 95, 99)
# With fewer samples, a p95 or p99 is the maximum.
_MIN_SAMPLES = {95: 20, 99: 100}
# Right-sizing needs P99s at random arrivals; Triton's tools send at even intervals by default.
MAYBE_EVEN_ARRIVALS = (
    "requests were sent at even intervals, so the P99 is shorter than with random arrivals, unless "
    "--request-distribution=poisson was set"
)
# The coefficient of variation of the times between requests is 1 for random arrivals.
_MIN_VARIATION = 0.5


@dataclass(frozen=True, slots=True)
class _Experiment:
    """One load: its readings, its number of unreadable requests, and whether arrivals were even."""

    readings: tuple[ProfileReading, ...]
    broken: int
    is_even: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    """The times of a request and of its first and last response.

    They are nanoseconds since 1970, which exceed a float's precision.
    """

    sent_ns: int
    first_ns: int
    last_ns: int
    responses: int


def read_perf_analyzer(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return throughput and latencies; the subject is the load, such as "concurrency 4".

    Percentiles of the JSON export are computed from its requests (linear between ranks). Raises
    ProfileError if the file is neither a report nor an export.
    """
    read = read_text(data, max_bytes=MAX_JSON_BYTES)
    doubts: tuple[str, ...] = ()
    if is_json(read):
        documents = documents_in(read)
        experiments = [
            _experiment(one) for each in documents.documents for one in _experiments(each)
        ]
        readings = [reading for one in experiments for reading in one.readings]
        dropped = documents.dropped + sum(one.broken for one in experiments)
        doubts = (EVEN_ARRIVALS,) if any(one.is_even for one in experiments) else ()
    else:
        readings, dropped = _report(read.lines)
        if any(one.subject.startswith(LOADS["Request Rate"]) for one in readings):
            doubts = (MAYBE_EVEN_ARRIVALS,)
    if not readings:
        raise ProfileError(_NOT_ONE)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        dropped=dropped,
        notes=(*read.notes, *doubts),
    )


def _report(lines: Sequence[str]) -> tuple[list[ProfileReading], int]:
    readings: list[ProfileReading] = []
    head: Sequence[str] = ()
    dropped = 0
    for cells in rows_of(lines):
        if cells is None:
            dropped += bool(head)
        elif cells[0] in LOADS and len(cells) > 1:
            head = cells
        elif head and any(cells):
            row_readings = [*_row(dict(zip(head, cells, strict=False)), head[0])]
            readings += row_readings
            dropped += not row_readings or len(cells) < len(head)
    return readings, dropped


def _row(row: Mapping[str, str], load: str) -> Iterator[ProfileReading]:
    amount = number_or_none(row[load])
    if amount is None or amount < 0:
        return
    reading = partial(ProfileReading, subject=f"{LOADS[load]} {for_programs(amount)}")
    for column, cell in row.items():
        value = number_or_none(cell)
        percentile = _PERCENTILE.fullmatch(column)
        if column == _MEMORY and (used := [float(each) for each in _OF_A_DEVICE.findall(cell)]):
            yield reading(name="memory_used", value=max(used), unit="B", source=column)
        if value is None or value < 0:
            continue
        if column in _RATES:
            yield reading(name=_RATES[column], value=value, unit="1/s", source=column)
        elif column in _PARTS:
            yield reading(name=_PARTS[column], value=value * MICRO, unit="s", source=column)
        elif percentile:
            name = f"request_latency_p{percentile[1]}"
            yield reading(name=name, value=value * MICRO, unit="s", source=column)


def _experiments(document: Document) -> Iterator[Document]:
    for one in values_of(document.get("experiments")):
        yield document_of(one)


def _experiment(experiment: Document) -> _Experiment:
    load = document_of(experiment.get("experiment"))
    amount = figure_of(load.get("value"))
    parsed = [_request(document_of(one)) for one in values_of(experiment.get("requests"))]
    requests = [request for request in parsed if request is not None]
    broken = len(parsed) - len(requests)
    if not requests:
        return _Experiment((), broken)
    mode = clean_name(str(load.get("mode")))
    subject = f"{mode} {for_programs(amount)}" if amount is not None else ""
    is_even = mode == LOADS["Request Rate"] and _variation(requests) < _MIN_VARIATION
    readings = tuple(_summary(requests, partial(ProfileReading, subject=subject)))
    return _Experiment(readings, broken, is_even)


def _variation(requests: Sequence[_Request]) -> float:
    """Return the coefficient of variation of the times between requests; 1 if they are random."""
    gaps = np.diff(np.sort([float(one.sent_ns - requests[0].sent_ns) for one in requests]))
    return float(gaps.std() / gaps.mean()) if gaps.any() else 1.0


def _request(cells: Document) -> _Request | None:
    sent_ns = _time_ns(cells.get("timestamp"))
    times = [_time_ns(time) for time in values_of(cells.get("response_timestamps"))]
    valid_times = [time for time in times if time is not None]
    if sent_ns is None or not valid_times or len(valid_times) < len(times):
        return None
    first_ns, last_ns = min(valid_times), max(valid_times)
    return _Request(sent_ns, first_ns, last_ns, len(valid_times)) if sent_ns <= first_ns else None


def _time_ns(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _MAX_NS else None


def _summary(
    requests: Sequence[_Request], reading: "partial[ProfileReading]"
) -> Iterator[ProfileReading]:
    span_ns = max(one.last_ns for one in requests) - min(one.sent_ns for one in requests)
    count = len(requests)
    yield reading(name="requests_completed", value=count, source="requests")
    if span_ns > 0:
        rate = count / (span_ns * NANO)
        source = "requests / (last response - first request)"
        yield reading(name="throughput_requests", value=rate, unit="1/s", source=source)
    latencies = {"request_latency": [(one.last_ns - one.sent_ns) * NANO for one in requests]}
    if any(one.responses > 1 for one in requests):  # streamed
        latencies["ttft"] = [(one.first_ns - one.sent_ns) * NANO for one in requests]
    for name, values in latencies.items():
        source = "response_timestamps"
        yield reading(name=f"{name}_mean", value=sum(values) / count, unit="s", source=source)
        for percent in _QUANTILES:
            if count >= _MIN_SAMPLES.get(percent, 1):
                value = float(np.percentile(values, percent))
                yield reading(name=f"{name}_p{percent}", value=value, unit="s", source=source)
