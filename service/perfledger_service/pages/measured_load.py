"""Turns a measured load curve into terminal text, CSV and the JSON that right-sizing reads.

Nothing that others wrote reaches a page but as clean text.
"""

import csv
import json
from dataclasses import asdict
from io import StringIO
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from perfledger.load import Served
from perfledger_baselines.latency import Quantile
from perfledger_baselines.measured_load import MeasuredLoad, MeasuredPoint
from perfledger_service.pages import figures
from perfledger_service.pages.escape import cell, clean

# 1: first version. Keys are only ever added.
VERSION = 1

_COLUMNS = ("load", "answered", "P50", "P95", "P99", "its 95 %", "step", "memory")
_LEFT_COLUMNS = ("load",)
_MAX_NAME = 200  # as the reader of the JSON allows
_MAX_NOTE = 600
_FEW = 1000  # answers a second; three digits of more would hide some


def load_text(view: MeasuredLoad) -> Group:
    """Return the points for a terminal of 80 columns."""
    grid = Table.grid(padding=(0, 1))
    for column in _COLUMNS:
        grid.add_column(justify="left" if column in _LEFT_COLUMNS else "right")
    grid.add_row(*_COLUMNS, style="dim")
    for batch, points in groupby(view.points, key=lambda point: point.batch):
        grid.add_row(f"batch {batch:,}", style="dim")
        for point in points:
            grid.add_row(*_cells(point), style="" if point.has_kept_up else "yellow")
    parts: list[RenderableType] = [Text(load_title(view), style="bold"), grid, Text()]
    parts += [Text(clean(each, limit=_MAX_NOTE), style="bold magenta") for each in view.failures]
    parts += [Text(clean(note, limit=_MAX_NOTE), style="yellow") for note in load_notes(view)]
    parts.append(
        Text(
            "A request is one call of the step. Its latency runs from when it was to begin; step: "
            "what of the median one is not waiting; memory: the most so far.",
            style="dim",
        )
    )
    return Group(*parts)


def load_title(view: MeasuredLoad) -> str:
    """Return what was loaded on what."""
    servers = "1 server" if view.servers == 1 else f"{view.servers} servers"
    on = clean(view.device) if view.devices == 1 else f"{view.devices} of {clean(view.device)}"
    return f"{clean(view.workload)} on {on}, {servers}"


def load_notes(view: MeasuredLoad) -> tuple[str, ...]:
    """Return what keeps a point from being believed, in sentences."""
    grown = tuple(
        f"At {load_name(point)} the queue grew: its latencies are those of this length of time."
        for point in view.points
        if not point.has_kept_up
    )
    return view.notes + grown


def load_name(point: MeasuredPoint | Served) -> str:
    """Return what was asked of the servers: "4 clients", "120/s"."""
    if point.concurrency is None:
        return rate(point.offered_per_second or 0)
    return "1 client" if point.concurrency == 1 else f"{point.concurrency:,} clients"


def rate(per_second: float) -> str:
    """Return requests a second: "43.2/s"."""
    return f"{per_second:.3g}/s" if per_second < _FEW else f"{per_second:,.0f}/s"


def load_csv(view: MeasuredLoad) -> str:
    """Return a row a point, with plain column names and base units; empty where nobody knows."""
    written = StringIO()
    rows = [_fields(point) for point in view.points]
    start = {"workload": cell(view.workload), "device": cell(view.device)}
    start |= {"devices": str(view.devices), "servers": str(view.servers)}
    table = csv.DictWriter(written, [*start, *rows[0]], lineterminator="\n")
    table.writeheader()
    table.writerows(start | row for row in rows)
    return written.getvalue()


def load_json(view: MeasuredLoad) -> str:
    """Return the curve as JSON; null where nobody knows."""
    document = {
        "version": VERSION,
        "workload": clean(view.workload, limit=_MAX_NAME),
        "device": clean(view.device, limit=_MAX_NAME),
        "devices": view.devices,
        "servers": view.servers,
        "points": [_fields(point) for point in view.points],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _fields(point: MeasuredPoint) -> dict[str, object]:
    """Return the point's fields, each quantile as its value and the ends of its interval."""
    quantiles = {"p50": point.p50, "p95": point.p95, "p99": point.p99}
    fields = {name: value for name, value in asdict(point).items() if name not in quantiles}
    for name, each in quantiles.items():
        fields[f"latency_{name}_s"] = each.seconds
        fields[f"latency_{name}_low_s"] = each.low
        fields[f"latency_{name}_high_s"] = each.high
    return fields


def _cells(point: MeasuredPoint) -> tuple[str, ...]:
    quantiles = (point.p50, point.p95, point.p99)
    return (
        load_name(point),
        rate(point.throughput_per_second),
        *(figures.seconds(each.seconds) for each in quantiles),
        _interval(point.p99),
        figures.seconds(point.service_p50_s),
        "" if point.memory_bytes is None else figures.byte_count(point.memory_bytes),
    )


def _interval(of: Quantile) -> str:
    """Return the ends of an interval against its value: "-4 to +23 %"; a ? is not known."""
    low, high = (
        "?" if end is None else f"{100 * (end / of.seconds - 1):+.0f}" for end in (of.low, of.high)
    )
    return f"{low}{figures.TO}{high}{figures.NBSP}%"
