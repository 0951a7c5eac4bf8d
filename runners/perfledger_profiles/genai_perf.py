"""Turn the JSON or CSV export of GenAI-Perf or AIPerf, or the table they print, into readings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from perfledger.profile import Profile, Reading
from perfledger.records import Side
from perfledger_profiles.documents import (
    MAX_JSON_BYTES,
    Document,
    document_of,
    documents_in,
    figure_of,
    is_json,
)
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.printed_table import printed_rows
from perfledger_profiles.quantity import number_of, scale_of, title_and_unit
from perfledger_profiles.redact import clean_name
from perfledger_profiles.summary import summary_profile
from perfledger_profiles.tables import rows_of
from perfledger_profiles.text_file import read_text

TOOL = "genai-perf"

_NOT_ONE = "no metric of GenAI-Perf is in this file: is it its profile_export_genai_perf file?"
# Names of GenAI-Perf for which there are shorter ones here; others are kept.
_NAMES = {
    "time_to_first_token": "ttft",
    "time_to_second_token": "ttst",
    "inter_token_latency": "itl",
    "output_token_throughput": "throughput_tokens",
    "request_throughput": "throughput_requests",
    "request_goodput": "goodput_requests",
    "request_count": "requests_completed",
    "gpu_power_usage": "power",
    "gpu_power_limit": "power_limit",
    "gpu_utilization": "gpu_busy",
    "gpu_memory_used": "memory_used",
    "total_gpu_memory": "memory_total",
    "energy_consumption": "energy_total",
    "gpu_temperature": "temp",
    "gpu_clock_sm": "sm_clock",
}
# Metrics of the whole run: their "avg" is the value, there is nothing to average.
_OF_THE_RUN = (
    *("output_token_throughput", "request_throughput", "request_goodput", "request_count"),
    *("image_throughput", "total_token_throughput", "benchmark_duration"),
)
_HEADS = ("Metric", "Statistic")  # of the first column; GenAI-Perf prints another than it exports
_STATISTIC = re.compile(r"avg|min|max|std|p\d{1,2}(?:\.\d+)?")
_METRIC_NAME = re.compile(r"[a-z][a-z0-9_]{2,60}")
_GPU = re.compile(r"gpu_?(\d{1,4})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metric:
    """One metric with its statistics as they are exported."""

    name: str
    unit: str
    subject: str
    statistics: Mapping[str, float]


def read_genai_perf(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return each metric's statistics, "ttft_p99" and so on; "gpu 0" is the subject of telemetry.

    Raises ProfileError when the file is no such export.
    """
    read = read_text(data, max_bytes=MAX_JSON_BYTES)
    if is_json(read):
        documents = documents_in(read)
        metrics = [metric for one in documents.documents for metric in _exported(one)]
        dropped = documents.dropped
    else:
        metrics, dropped = _tabulated(printed_rows(read.lines) or rows_of(read.lines))
    readings = list(chain.from_iterable(_readings(metric) for metric in metrics))
    if not readings:
        raise ProfileError(_NOT_ONE)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=readings,
        dropped=dropped,
        notes=read.notes,
    )


def _exported(document: Document) -> Iterator[_Metric]:
    """Yield the metrics of a JSON export; AIPerf keeps some of its under "records"."""
    for part in (document, document_of(document.get("records"))):
        for name, cell in part.items():
            metric = _metric(name, document_of(cell), "")
            if metric is not None:
                yield metric
    for name, cell in document_of(document.get("telemetry_stats")).items():
        by_device = document_of(cell)
        for device, statistics in by_device.items():
            subject = _gpu(device)
            if subject:
                cells = {**document_of(statistics), "unit": by_device.get("unit")}
                metric = _metric(name, cells, subject)
                if metric is not None:
                    yield metric


def _metric(name: str, cells: Document, subject: str) -> _Metric | None:
    unit = cells.get("unit")
    statistics = {
        key: value
        for key, cell in cells.items()
        if _STATISTIC.fullmatch(key) and (value := figure_of(cell)) is not None
    }
    if not isinstance(unit, str) or not statistics or not _METRIC_NAME.fullmatch(name):
        return None
    return _Metric(name=name, unit=unit, subject=subject, statistics=statistics)


def _gpu(text: str) -> str:
    match = _GPU.fullmatch(text.strip().casefold())
    return f"gpu {match[1]}" if match else ""


def _tabulated(rows: Iterable[Sequence[str] | None]) -> tuple[list[_Metric], int]:
    """Return the metrics of an export's tables, and how many rows are torn."""
    metrics: list[_Metric] = []
    head: Sequence[str] = ()
    dropped = 0
    for cells in rows:
        if cells is None:
            dropped += 1
        elif cells and cells[0] in _HEADS:
            head = ("Metric", *cells[1:])
        elif head and any(cells):
            metric = _row(dict(zip(head, cells, strict=False)), is_torn=len(cells) < len(head))
            if metric is None:
                dropped += 1
            else:
                metrics.append(metric)
    return metrics, dropped


def _row(row: Mapping[str, str], *, is_torn: bool) -> _Metric | None:
    title, unit = title_and_unit(row.get("Metric", "")) or ("", "")
    name = title.casefold().replace(" ", "_")
    subject = _gpu(row["GPU"]) if "GPU" in row else ""
    cells = {("avg" if key == "Value" else key): cell for key, cell in row.items()}
    statistics = {
        key: value
        for key, cell in cells.items()
        if _STATISTIC.fullmatch(key) and (value := number_of(cell)) is not None
    }
    if is_torn or not statistics or not _METRIC_NAME.fullmatch(name):
        return None
    return _Metric(name=name, unit=unit, subject=subject, statistics=statistics)


def _readings(metric: _Metric) -> Iterator[Reading]:
    """Yield a metric's statistics in SI units, nothing where its unit is not known."""
    scale = scale_of(metric.unit)
    if scale is None:
        return
    name = _NAMES.get(metric.name, metric.name)
    for statistic, value in metric.statistics.items():
        suffix = "_mean" if statistic == "avg" else f"_{statistic}"
        if statistic == "avg" and (metric.name in _OF_THE_RUN or metric.subject):
            suffix = ""
        yield Reading(
            name=name + suffix,
            value=value * scale.factor,
            unit=scale.unit,
            subject=metric.subject,
            source=clean_name(metric.name),
        )
