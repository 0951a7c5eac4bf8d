"""Turn the CSV report or the JSON export of Triton's Perf Analyzer into readings by load."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from perfledger.profile import Profile, Reading
from perfledger.records import Side
from perfledger_profiles.documents import (
    MAX_JSON_BYTES,
    Document,
    document_of,
    documents_in,
    figure_of,
    is_json,
    values_of,
)
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.genai_load import EVEN_ARRIVALS
from perfledger_profiles.quantity import number_of
from perfledger_profiles.redact import clean_name
from perfledger_profiles.summary import summary_profile
from perfledger_profiles.tables import rows_of
from perfledger_profiles.text_file import read_text

TOOL = "perf_analyzer"

_NOT_ONE = "no load of Perf Analyzer is in this file: was it written with -f or --profile-export?"
_MICRO = 1e-6
_NANO = 1e-9
_MAX_NS = 2**63
_LOADS = {"Concurrency": "concurrency", "Request Rate": "request_rate"}
# Of inferences a request has as many as its batch (-b), which no report says.
_RATES = {
    "Inferences/Second": "throughput_inferences",
    "Response Throughput": "throughput_responses",
}
_MEMORY = "Max GPU Memory Usage"  # "GPU-aa:872415232;GPU-bb:872415232;", in bytes
_OF_A_DEVICE = re.compile(r"GPU-[\w-]{1,64}:(\d{1,18}(?:\.\d{1,9})?(?:e\+\d\d?)?);")
# Mean microseconds of a request; what is not here, such as a list of devices, is not read.
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
# p99 of less is its maximum; the schema of profiles asks for 20 and 100 samples.
_MIN_SAMPLES = {95: 20, 99: 100}
# What right-sizing reads of P99s at random times; Triton's tools send at even ones by default.
MAYBE_EVEN_ARRIVALS = (
    "requests were sent at even times, at which a P99 is shorter than at random ones, unless it "
    "was told --request-distribution=poisson"
)
# The variation of the times between requests, their deviation over their mean, is 1 at random ones.
_LEAST_VARIATION = 0.5


@dataclass(frozen=True, slots=True)
class _Experiment:
    """One load: what its requests come to, how many are broken, and how they were sent."""

    readings: tuple[Reading, ...]
    broken: int
    is_even: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    """When a request was sent, and when its first and last response came.

    Nanoseconds since 1970, which are too many for a float.
    """

    sent_ns: int
    first_ns: int
    last_ns: int
    responses: int


def read_perf_analyzer(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return throughput and latencies with the load, such as "concurrency 4", as the subject.

    Of the JSON export percentiles are computed from its requests (linear between ranks). Raises
    ProfileError when the file is neither.
    """
    read = read_text(data, max_bytes=MAX_JSON_BYTES)
    doubts: tuple[str, ...] = ()
    if is_json(read):
        documents = documents_in(read)
        found = [_experiment(one) for each in documents.documents for one in _experiments(each)]
        readings = [reading for one in found for reading in one.readings]
        dropped = documents.dropped + sum(one.broken for one in found)
        doubts = (EVEN_ARRIVALS,) if any(one.is_even for one in found) else ()
    else:
        readings, dropped = _report(read.lines)
        if any(one.subject.startswith(_LOADS["Request Rate"]) for one in readings):
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


def _report(lines: Sequence[str]) -> tuple[list[Reading], int]:
    readings: list[Reading] = []
    head: Sequence[str] = ()
    dropped = 0
    for cells in rows_of(lines):
        if cells is None:
            dropped += bool(head)
        elif cells[0] in _LOADS and len(cells) > 1:
            head = cells
        elif head and any(cells):
            found = [*_row(dict(zip(head, cells, strict=False)), head[0])]
            readings += found
            dropped += not found or len(cells) < len(head)
    return readings, dropped


def _row(row: Mapping[str, str], load: str) -> Iterator[Reading]:
    amount = number_of(row[load])
    if amount is None or amount < 0:
        return
    reading = partial(Reading, subject=f"{_LOADS[load]} {amount:g}")
    for column, cell in row.items():
        value = number_of(cell)
        percentile = _PERCENTILE.fullmatch(column)
        if column == _MEMORY and (used := [float(each) for each in _OF_A_DEVICE.findall(cell)]):
            yield reading(name="memory_used", value=max(used), unit="B", source=column)
        if value is None or value < 0:
            continue
        if column in _RATES:
            yield reading(name=_RATES[column], value=value, unit="1/s", source=column)
        elif column in _PARTS:
            yield reading(name=_PARTS[column], value=value * _MICRO, unit="s", source=column)
        elif percentile:
            name = f"request_latency_p{percentile[1]}"
            yield reading(name=name, value=value * _MICRO, unit="s", source=column)


def _experiments(document: Document) -> Iterator[Document]:
    for one in values_of(document.get("experiments")):
        yield document_of(one)


def _experiment(experiment: Document) -> _Experiment:
    load = document_of(experiment.get("experiment"))
    amount = figure_of(load.get("value"))
    found = [_request(document_of(one)) for one in values_of(experiment.get("requests"))]
    requests = [request for request in found if request is not None]
    broken = len(found) - len(requests)
    if not requests:
        return _Experiment((), broken)
    mode = clean_name(str(load.get("mode")))
    subject = f"{mode} {amount:g}" if amount is not None else ""
    is_even = mode == _LOADS["Request Rate"] and _variation(requests) < _LEAST_VARIATION
    readings = tuple(_summary(requests, partial(Reading, subject=subject)))
    return _Experiment(readings, broken, is_even)


def _variation(requests: Sequence[_Request]) -> float:
    """Return how much the times between requests vary, relative to their mean; 1: at random."""
    gaps = np.diff(np.sort([float(one.sent_ns - requests[0].sent_ns) for one in requests]))
    return float(gaps.std() / gaps.mean()) if gaps.any() else 1.0


def _request(cells: Document) -> _Request | None:
    sent_ns = _time_ns(cells.get("timestamp"))
    times = [_time_ns(time) for time in values_of(cells.get("response_timestamps"))]
    known = [time for time in times if time is not None]
    if sent_ns is None or not known or len(known) < len(times):
        return None
    first_ns, last_ns = min(known), max(known)
    return _Request(sent_ns, first_ns, last_ns, len(known)) if sent_ns <= first_ns else None


def _time_ns(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < _MAX_NS else None


def _summary(requests: Sequence[_Request], reading: "partial[Reading]") -> Iterator[Reading]:
    span_ns = max(one.last_ns for one in requests) - min(one.sent_ns for one in requests)
    count = len(requests)
    yield reading(name="requests_completed", value=count, source="requests")
    if span_ns > 0:
        rate = count / (span_ns * _NANO)
        source = "requests / (last response - first request)"
        yield reading(name="throughput_requests", value=rate, unit="1/s", source=source)
    latencies = {"request_latency": [(one.last_ns - one.sent_ns) * _NANO for one in requests]}
    if any(one.responses > 1 for one in requests):  # streamed
        latencies["ttft"] = [(one.first_ns - one.sent_ns) * _NANO for one in requests]
    for name, values in latencies.items():
        source = "response_timestamps"
        yield reading(name=f"{name}_mean", value=sum(values) / count, unit="s", source=source)
        for percent in _QUANTILES:
            if count >= _MIN_SAMPLES.get(percent, 1):
                value = float(np.percentile(values, percent))
                yield reading(name=f"{name}_p{percent}", value=value, unit="s", source=source)
