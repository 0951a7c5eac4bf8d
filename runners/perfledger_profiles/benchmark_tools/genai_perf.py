"""Reads the JSON and CSV exports and the printed tables of GenAI-Perf and AIPerf."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from perfledger.profile import Profile, ProfileReading
from perfledger.records import Side
from perfledger.rounding import for_programs, typed
from perfledger_profiles.benchmark_tools.genai_load import (
    EVEN_ARRIVALS,
    cancelled_requests,
    has_even_arrivals,
    requested_load,
)
from perfledger_profiles.benchmark_tools.perf_analyzer import LOADS
from perfledger_profiles.benchmark_tools.vllm import FAILED
from perfledger_profiles.parsing.csv_lines import rows_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.json_documents import (
    MAX_JSON_BYTES,
    Document,
    document_of,
    documents_in,
    figure_of,
    is_json,
)
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.parsing.units import number_or_none, scale_of, title_and_unit
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "genai-perf"

_NOT_ONE = "this file has no metric of GenAI-Perf: give its profile_export_genai_perf file"
# Shorter names for some GenAI-Perf metrics; the others keep theirs.
_NAMES = {
    "time_to_first_token": "ttft",
    "time_to_second_token": "ttst",
    "inter_token_latency": "itl",
    "output_token_throughput": "throughput_tokens",
    "request_throughput": "throughput_requests",
    "request_goodput": "goodput_requests",
    "request_count": "requests_completed",
    "error_request_count": "requests_failed",
    "benchmark_duration": "benchmark_time",
    "gpu_power_usage": "power",
    "gpu_power_limit": "power_limit",
    "gpu_utilization": "gpu_busy",
    "gpu_memory_used": "memory_used",
    "total_gpu_memory": "memory_total",
    "energy_consumption": "energy_total",
    "gpu_temperature": "temp",
    "gpu_clock_sm": "sm_clock",
}
# Metrics of the whole run, whose "avg" is the value.
_OF_THE_RUN = (
    *("output_token_throughput", "request_throughput", "request_goodput", "request_count"),
    *("image_throughput", "total_token_throughput", "benchmark_duration", "error_request_count"),
)
_FAILED = _NAMES["error_request_count"]
_HEADS = ("Metric", "Statistic")  # titles of the first column, exported and printed
# Columns of a sweep (`genai-perf analyze`): the row's name, its load and its other settings.
_SWEEP = "Config Name"
_SETTINGS = ("ISL", "Num Dataset Entries", "Num Prompts")
_STATISTIC = re.compile(r"avg|min|max|std|p\d{1,2}(?:\.\d+)?")
_METRIC_NAME = re.compile(r"[a-z][a-z0-9_]{2,60}")
_GPU = re.compile(r"gpu_?(\d{1,4})")

# Names are shorter than this even in a wide terminal.
_MAX_NAME = 200
_BORDERS = ("\N{BOX DRAWINGS HEAVY VERTICAL}", "\N{BOX DRAWINGS LIGHT VERTICAL}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Metric:
    """One metric with its exported statistics."""

    name: str
    unit: str
    subject: str
    statistics: Mapping[str, float]


def read_genai_perf(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return each metric's statistics, such as "ttft_p99"; telemetry has subjects such as "gpu 0".

    Raises ProfileError if the file is not such an export.
    """
    read = read_text(data, max_bytes=MAX_JSON_BYTES)
    exports: Sequence[Document] = ()
    if is_json(read):
        documents = documents_in(read)
        exports, dropped = documents.documents, documents.dropped
        metrics = [metric for one in exports for metric in _json_metrics(one)]
    else:
        rows = list(printed_rows(read.lines) or rows_of(read.lines))
        is_sweep = any(cells and cells[0] == _SWEEP for cells in rows)
        metrics, dropped = _sweep_metrics(rows) if is_sweep else _table_metrics(rows)
    readings = list(chain.from_iterable(_readings(metric) for metric in metrics))
    if not readings:
        raise ProfileError(_NOT_ONE)
    readings = _without_cancelled(readings, sum(map(cancelled_requests, exports)))
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        readings=[*readings, *chain.from_iterable(map(requested_load, exports))],
        dropped=dropped,
        notes=(*read.notes, *_doubts(readings, exports)),
    )


def printed_rows(lines: Sequence[str]) -> list[list[str]]:
    """Return the cells of each row of a table in box characters; empty if there is no such table.

    A row with text only in its first cell continues the row above, because rich wraps long names
    this way.
    """
    rows: list[list[str]] = []
    for line in lines:
        border = next((each for each in _BORDERS if line.lstrip().startswith(each)), "")
        if not border or not line.rstrip().endswith(border):
            continue
        cells = [cell.strip() for cell in line.strip().strip(border).split(border)]
        above = rows[-1] if rows else []
        is_name_only = len(cells) == len(above) > 1 and not any(cells[1:])
        if is_name_only and len(above[0]) < _MAX_NAME:
            above[0] = f"{above[0]} {cells[0]}"
        else:
            rows.append(cells)
    return rows


def _without_cancelled(
    readings: Sequence[ProfileReading], cancelled: float
) -> list[ProfileReading]:
    """Return the readings with cancelled requests subtracted from the failed ones."""
    return [
        replace(one, value=max(one.value - cancelled, 0.0)) if one.name == _FAILED else one
        for one in readings
    ]


def _doubts(readings: Sequence[ProfileReading], exports: Sequence[Document]) -> Iterator[str]:
    failed = sum(one.value for one in readings if one.name == _FAILED)
    if failed > 0:
        yield FAILED.format(typed(failed))
    has_rates = any(f"{LOADS['Request Rate']} " in one.subject for one in readings)
    if has_rates or any(map(has_even_arrivals, exports)):
        yield EVEN_ARRIVALS


def _json_metrics(document: Document) -> Iterator[_Metric]:
    """Yield the metrics of a JSON export; AIPerf stores some under "records"."""
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


def _table_metrics(rows: Iterable[Sequence[str] | None]) -> tuple[list[_Metric], int]:
    """Return the metrics of an export's tables, and the number of torn rows."""
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


def _sweep_metrics(rows: Iterable[Sequence[str] | None]) -> tuple[list[_Metric], int]:
    """Return the metrics of a sweep's loads, and the number of torn rows.

    If several rows have the same load, for example in a sweep of lengths, the other settings
    distinguish them.
    """
    head: Sequence[str] = ()
    loads: list[tuple[str, Mapping[str, str]]] = []
    dropped = 0
    for cells in rows:
        if cells and cells[0] == _SWEEP:
            head = cells
        elif cells and any(cells) and head:
            row = dict(zip(head, cells, strict=False))
            load = next((name for name in LOADS if name in head), "")
            amount = number_or_none(row.get(load, ""))
            dropped += len(cells) < len(head)
            if amount is not None and len(cells) >= len(head):
                loads.append((f"{LOADS[load]} {for_programs(amount)}", row))
        dropped += cells is None
    are_one = len({load for load, _ in loads}) == len(loads)
    metrics: list[_Metric] = []
    for load, cells_of in loads:
        name = " ".join(f"{key} {cells_of[key]}" for key in _SETTINGS if key in cells_of) or TOOL
        subject = load if are_one else f"{clean_name(name)} batch 1 {load}"
        metrics += (
            metric
            for column, cell in cells_of.items()
            if (metric := _cell(column, cell, subject)) is not None
        )
    return metrics, dropped


def _cell(column: str, cell: str, subject: str) -> _Metric | None:
    """Return the metric of a sweep's column: "p99 Request Latency (ms)", "Avg. ...", or a rate."""
    title, unit = title_and_unit(column) or ("", "")
    statistic, _, rest = title.replace("Avg.", "avg").partition(" ")
    if not _STATISTIC.fullmatch(statistic):
        statistic, rest = "avg", title
    name, value = rest.casefold().replace(" ", "_"), number_or_none(cell)
    if not unit or value is None or not _METRIC_NAME.fullmatch(name):
        return None
    return _Metric(name=name, unit=unit, subject=subject, statistics={statistic: value})


def _row(row: Mapping[str, str], *, is_torn: bool) -> _Metric | None:
    title, unit = title_and_unit(row.get("Metric", "")) or ("", "")
    name = title.casefold().replace(" ", "_")
    subject = _gpu(row["GPU"]) if "GPU" in row else ""
    cells = {("avg" if key == "Value" else key): cell for key, cell in row.items()}
    statistics = {
        key: value
        for key, cell in cells.items()
        if _STATISTIC.fullmatch(key) and (value := number_or_none(cell)) is not None
    }
    if is_torn or not statistics or not _METRIC_NAME.fullmatch(name):
        return None
    return _Metric(name=name, unit=unit, subject=subject, statistics=statistics)


def _readings(metric: _Metric) -> Iterator[ProfileReading]:
    """Yield a metric's statistics in SI units; nothing if the unit is unknown."""
    scale = scale_of(metric.unit)
    if scale is None:
        return
    name = _NAMES.get(metric.name, metric.name)
    for statistic, value in metric.statistics.items():
        suffix = "_mean" if statistic == "avg" else f"_{statistic}"
        if statistic == "avg" and (metric.name in _OF_THE_RUN or metric.subject):
            suffix = ""
        yield ProfileReading(
            name=name + suffix,
            value=value * scale.factor,
            unit=scale.unit,
            subject=metric.subject,
            source=clean_name(metric.name),
        )
