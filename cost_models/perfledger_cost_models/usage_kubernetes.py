"""Kubernetes' GPU hours by namespace, controller, pod and labels into spans.

Read are the answers of OpenCost's and Kubecost's allocation API
(https://opencost.io/docs/integrations/api), and tables in CSV with a start and an end (or a day),
GPU hours (or a mean number of GPUs), and any labels.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from perfledger_cost_models.usage import (
    Span,
    Usage,
    UsageFileError,
    moment,
    rows_of,
    span_of,
    usage_of,
)

KIND = "Kubernetes"
HOURS = ("gpuhours", "devicehours")
DEVICES = ("gpus", "gpucount", "devices")
STARTS = ("start", "windowstart", "date")
ENDS = ("end", "windowend")
DAY_SECONDS = 86_400.0
HOUR_SECONDS = 3600.0
IDLE = "__idle__"  # what OpenCost calls hours that nobody used, if asked to include them
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


def is_kubernetes_csv(header: Sequence[str]) -> bool:
    """Whether a table's header names GPU hours or GPUs, and when."""
    names = _places(header)
    return any(name in names for name in STARTS) and any(name in names for name in HOURS + DEVICES)


def read_allocations(data: bytes, name: str) -> Usage:
    """Read an answer of the allocation API; raises UsageFileError."""
    try:
        answer = msgspec.json.decode(data, type=_Answer)
    except (msgspec.DecodeError, RecursionError) as error:
        msg = f"{name} is no answer of OpenCost's allocation API: {str(error)[:200]}"
        raise UsageFileError(msg) from error
    spans: list[Span] = []
    for window in answer.data:
        for key, one in (window or {}).items():
            if one is not None:
                start, end = moment(one.start, name), moment(one.end, name)
                spans.append(_span(name, _labels(key, one), start, end, one.gpu_hours))
    return _usage(name, spans)


def read_gpu_table(text: str, name: str) -> Usage:
    """Read a table of GPU hours; raises UsageFileError."""
    rows = rows_of(text, name)
    _, header = next(rows, (0, list[str]()))
    places = _places(header)
    spans: list[Span] = []
    for number, cells in rows:
        where = f"{name}, line {number}"
        if len(cells) != len(header):
            msg = f"{where}: {len(cells)} cells under {len(header)} columns: export it again"
            raise UsageFileError(msg)
        row = {key: cells[place] for key, place in places.items()}
        labels = {
            column: cells[place].strip()
            for place, column in enumerate(header)
            if cells[place].strip() and _plain(column) not in (*HOURS, *DEVICES, *STARTS, *ENDS)
        }
        start, end = _window(row, where)
        hours = _hours(row, where, seconds=end - start)
        spans.append(_span(where, labels, start, end, hours))
    return _usage(name, spans)


def _usage(name: str, spans: Sequence[Span]) -> Usage:
    moments = [end for span in spans for end in (span.start, span.end)]
    used = [span for span in spans if span.devices and not _is_idle(span)]
    return usage_of(name, KIND, used, also=moments)


def _is_idle(span: Span) -> bool:
    return any(IDLE in value.split("/") for value in span.labels.values())


def _labels(key: str, one: _Allocation) -> Mapping[str, str]:
    """Return an allocation's properties, and its name where it was summed by something else."""
    if one.properties is None:
        return {"name": one.name or key}
    known = {name: getattr(one.properties, name) for name in PROPERTIES}
    labels = {f"label_{name}": value for name, value in (one.properties.labels or {}).items()}
    return {"name": one.name or key, **{k: v for k, v in known.items() if v}, **labels}


def _span(
    where: str, labels: Mapping[str, str], start: float, end: float, gpu_hours: float
) -> Span:
    if end <= start:
        told = " to ".join(datetime.fromtimestamp(at, UTC).isoformat() for at in (start, end))
        msg = f"{where}: a window from {told} has no length: export it again"
        raise UsageFileError(msg)
    return span_of(where, labels, start, end, gpu_hours * HOUR_SECONDS / (end - start))


def _window(row: Mapping[str, str], where: str) -> tuple[float, float]:
    start = moment(_first(row, STARTS), where)
    ended = _first(row, ENDS)
    return start, moment(ended, where) if ended else start + DAY_SECONDS


def _hours(row: Mapping[str, str], where: str, *, seconds: float) -> float:
    told = _first(row, HOURS)
    try:
        return float(told) if told else float(_first(row, DEVICES)) * seconds / HOUR_SECONDS
    except ValueError as error:
        msg = f"{where}: {(told or _first(row, DEVICES))[:40]!r} are no GPU hours: export it again"
        raise UsageFileError(msg) from error


def _first(row: Mapping[str, str], names: Sequence[str]) -> str:
    return next((row[name].strip() for name in names if name in row), "")


def _places(header: Sequence[str]) -> dict[str, int]:
    return {_plain(column): place for place, column in enumerate(header)}


def _plain(column: str) -> str:
    """Return a column's name as "GPU Hours", gpu_hours and gpuHours have it in common."""
    return "".join(letter for letter in column.lower() if letter.isalnum())
