"""Reads Kubernetes' GPU hours by namespace, controller, pod and labels.

Supported are answers of OpenCost's and Kubecost's allocation API
(https://opencost.io/docs/integrations/api), and tables in CSV with a start and an end (or a day),
GPU hours (or a mean number of GPUs), and any labels.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_HOUR
from perfledger_cost_models.usage.device_spans import (
    DeviceSpan,
    DeviceUsage,
    UsageFileError,
    any_number,
    decoded_json,
    parse_time,
    span_of,
    usage_of,
)
from perfledger_profiles.parsing.text_table import read_table

KIND = "Kubernetes"
HOURS = ("gpuhours", "devicehours")
DEVICES = ("gpus", "gpucount", "devices")
STARTS = ("start", "windowstart", "date")
ENDS = ("end", "windowend")
IDLE = "__idle__"  # OpenCost's name of unused hours, if the request includes them
# A column of OpenCost's daily CSV export, pkg/costmodel/csv_export.go. Its GPUs are the mean over a
# container's own time in the day, which it does not state: an hour on 8 GPUs is 8 there.
EXPORT_MARK = "cpucoreusageaverage"
PROPERTIES = ("cluster", "namespace", "controller", "pod", "container", "node")


class _Properties(msgspec.Struct):
    cluster: str | None = None
    namespace: str | None = None
    controller: str | None = None
    pod: str | None = None
    container: str | None = None
    node: str | None = None
    labels: dict[str, str] | None = None


class _Allocation(msgspec.Struct):
    start: str
    end: str
    name: str = ""
    properties: _Properties | None = None
    gpu_hours: float = msgspec.field(default=0.0, name="gpuHours")


class _Answer(msgspec.Struct):
    data: list[dict[str, _Allocation | None] | None]


_ANSWER_DECODER = msgspec.json.Decoder(_Answer)


def is_kubernetes_csv(header: Sequence[str]) -> bool:
    """Return whether a table's header names GPU hours or GPUs, and times."""
    names = _places(header)
    return any(name in names for name in STARTS) and any(name in names for name in HOURS + DEVICES)


def read_allocations(data: bytes, name: str) -> DeviceUsage:
    """Read an answer of the allocation API; raise UsageFileError."""
    answer = decoded_json(
        data, _ANSWER_DECODER, f"{name} is not an answer of OpenCost's allocation API"
    )
    spans: list[DeviceSpan] = []
    for window in answer.data:
        for key, allocation in (window or {}).items():
            if allocation is not None:
                start, end = parse_time(allocation.start, name), parse_time(allocation.end, name)
                spans.append(
                    _span(name, _labels(key, allocation), start, end, allocation.gpu_hours)
                )
    return _usage(name, spans)


def read_gpu_table(text: str, name: str) -> DeviceUsage:
    """Read a table of GPU hours; raise UsageFileError."""
    table = read_table(text, name, error=UsageFileError)
    places = _places(table.header)
    if EXPORT_MARK in places and not any(hours in places for hours in HOURS):
        msg = (
            f"{name} is OpenCost's CSV export, whose GPUs are averages over an unknown run "
            "time, so hours would be overstated: give an answer of its "
            "allocation API, which has gpuHours"
        )
        raise UsageFileError(msg)
    spans: list[DeviceSpan] = []
    for number, cells in table.rows:
        where = f"{name}, line {number}"
        row = {key: cells[place] for key, place in places.items()}
        labels = {
            column: cells[index].strip()
            for index, column in enumerate(table.header)
            if cells[index].strip() and _normalize(column) not in (*HOURS, *DEVICES, *STARTS, *ENDS)
        }
        start, end = _window(row, where)
        hours = _hours(row, where, seconds=end - start)
        spans.append(_span(where, labels, start, end, hours))
    return _usage(name, spans)


def _usage(name: str, spans: Sequence[DeviceSpan]) -> DeviceUsage:
    moments = [end for span in spans for end in (span.start, span.end)]
    used = [span for span in spans if span.devices and not _is_idle(span)]
    return usage_of(name, KIND, used, idle_moments=moments)


def _is_idle(span: DeviceSpan) -> bool:
    return any(IDLE in value.split("/") for value in span.labels.values())


def _labels(key: str, allocation: _Allocation) -> Mapping[str, str]:
    """Return an allocation's properties and labels, or its name if it has no properties."""
    if allocation.properties is None:
        return {"name": allocation.name or key}
    properties = {name: getattr(allocation.properties, name) for name in PROPERTIES}
    labels = {
        f"label_{name}": value for name, value in (allocation.properties.labels or {}).items()
    }
    return {"name": allocation.name or key, **{k: v for k, v in properties.items() if v}, **labels}


def _span(
    where: str, labels: Mapping[str, str], start: float, end: float, gpu_hours: float
) -> DeviceSpan:
    if end <= start:
        window_text = " to ".join(
            datetime.fromtimestamp(at, UTC).isoformat() for at in (start, end)
        )
        msg = f"{where}: a window from {window_text} has no length: export it again"
        raise UsageFileError(msg)
    return span_of(where, labels, start, end, gpu_hours * SECONDS_PER_HOUR / (end - start))


def _window(row: Mapping[str, str], where: str) -> tuple[float, float]:
    start = parse_time(_first(row, STARTS), where)
    end_text = _first(row, ENDS)
    return start, parse_time(end_text, where) if end_text else start + SECONDS_PER_DAY


def _hours(row: Mapping[str, str], where: str, *, seconds: float) -> float:
    hours_text = _first(row, HOURS)
    amount = any_number(
        hours_text or _first(row, DEVICES), where, otherwise="is not a number of GPU hours"
    )
    return amount if hours_text else amount * seconds / SECONDS_PER_HOUR


def _first(row: Mapping[str, str], names: Sequence[str]) -> str:
    return next((row[name].strip() for name in names if name in row), "")


def _places(header: Sequence[str]) -> dict[str, int]:
    return {_normalize(column): index for index, column in enumerate(header)}


def _normalize(column: str) -> str:
    """Return a column's letters and digits: "GPU Hours", gpu_hours and gpuHours are equal."""
    return "".join(letter for letter in column.lower() if letter.isalnum())
