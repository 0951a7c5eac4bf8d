"""Presents a measured load curve."""

from perfledger import rounding
from perfledger.load import LoadResult
from perfledger_baselines.estimation.latency_quantiles import LatencyQuantile
from perfledger_baselines.estimation.load_points import MeasuredLoad, MeasuredPoint
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Paragraph,
    TextStyle,
    display,
    fact,
    figure,
    notes,
    record_facts,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.rendering.layout.number_format import quantity

_QUANTILES = ("p50", "p95", "p99")
_MEANING = (
    "A request is one call of the step. Latency counts from its scheduled start; step: the "
    "median without waiting; memory: the peak so far."
)
_FEW = 1000  # answers per second; above it three digits would hide differences


def load_document(view: MeasuredLoad) -> Document:
    """Return the points; `plan rightsize` reads the JSON."""
    failures = (Paragraph(text=each, style=TextStyle.MISSING) for each in view.failures)
    warnings = (Paragraph(text=each, style=TextStyle.WARNING) for each in load_notes(view))
    return Document(
        name="perfledger-load-curve",
        facts={
            "workload": clean(view.workload, limit=MAX_LONG_NAME),
            "device": clean(view.device, limit=MAX_LONG_NAME),
            "devices": view.devices,
            "servers": view.servers,
        },
        row_facts=("workload", "device", "devices", "servers"),
        blocks=(
            title(load_title(view), names=(view.workload, view.device)),
            table(_columns(), view.points, key="points", group=_batch, style=_style),
            *failures,
            *warnings,
            *notes([_MEANING]),
        ),
    )


def load_title(view: MeasuredLoad) -> str:
    """Return the workload, its device and its servers."""
    servers = quantity(view.servers, "server")
    on = clean(view.device) if view.devices == 1 else f"{view.devices} of {clean(view.device)}"
    return f"{clean(view.workload)} on {on}, {servers}"


def load_notes(view: MeasuredLoad) -> tuple[str, ...]:
    """Return a sentence for each point with doubtful latencies."""
    grown = tuple(
        f"At {load_name(point)} the queue grew: its latencies depend on how long it was measured."
        for point in view.points
        if not point.has_kept_up
    )
    return view.notes + grown


def load_name(point: MeasuredPoint | LoadResult) -> str:
    """Return the offered load: "4 clients", "120/s"."""
    if point.concurrency is None:
        return rate(point.offered_per_second or 0)
    return quantity(point.concurrency, "client")


def rate(per_second: float) -> str:
    """Return requests a second: "43.2/s"."""
    figure = rounding.digits(per_second, 3) if per_second < _FEW else rounding.integer(per_second)
    return f"{figure}/s"


def _columns() -> tuple[Column[MeasuredPoint], ...]:
    return (
        words("", "load", load_name),
        display("answered", lambda point: rate(point.throughput_per_second)),
        display("P50", lambda point: number_format.seconds(point.p50.seconds)),
        display("P95", lambda point: number_format.seconds(point.p95.seconds)),
        display("P99", lambda point: number_format.seconds(point.p99.seconds)),
        display("its 95 %", lambda point: _interval(point.p99)),
        figure("", "step", lambda point: point.service_p50_s, number_format.seconds),
        figure("", "memory", lambda point: point.memory_bytes, number_format.byte_count),
        *record_facts(MeasuredPoint, _point, without=_QUANTILES),
        *(column for key in _QUANTILES for column in _latency_columns(key)),
    )


def _latency_columns(key: str) -> tuple[Column[MeasuredPoint], ...]:
    """Return a quantile's latency and the ends of its interval."""

    def latency(point: MeasuredPoint) -> LatencyQuantile:
        quantile: LatencyQuantile = getattr(point, key)
        return quantile

    return (
        fact(f"latency_{key}_s", lambda point: latency(point).seconds),
        fact(f"latency_{key}_low_s", lambda point: latency(point).low),
        fact(f"latency_{key}_high_s", lambda point: latency(point).high),
    )


def _point(point: MeasuredPoint) -> MeasuredPoint:
    return point


def _batch(point: MeasuredPoint) -> str:
    return f"batch {point.batch:,}"


def _style(point: MeasuredPoint) -> TextStyle:
    return TextStyle.PLAIN if point.has_kept_up else TextStyle.WARNING


def _interval(of: LatencyQuantile) -> str:
    """Return the ends of an interval relative to its value: "-4 to +23 %"; "?" is unknown."""
    low, high = (
        "?" if end is None else number_format.signed(100 * (end / of.seconds - 1), rounding.integer)
        for end in (of.low, of.high)
    )
    return f"{low}{number_format.INTERVAL_TO}{high}{number_format.NBSP}%"
