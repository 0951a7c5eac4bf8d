"""Turns a measured load curve into an SVG that stands alone: throughput against P50, P95 and P99.

The axis of latencies is logarithmic; P99 has its interval. Lines join the points of one loop and
one batch. It follows the reader's light or dark colours and loads nothing.
"""

import math
from dataclasses import dataclass
from itertools import groupby

from perfledger.load import Mode
from perfledger_baselines.latency import Quantile
from perfledger_baselines.measured_load import MeasuredLoad, MeasuredPoint
from perfledger_service.pages import figures
from perfledger_service.pages.environment import render
from perfledger_service.pages.measured_load import load_name, load_notes, load_title, rate
from perfledger_service.pages.scale import Dot, Scale, Tick, nice_ticks

# As the template draws it.
_LEFT, _RIGHT, _TOP, _BOTTOM = 72.0, 800.0, 72.0, 400.0
_MARKS = (1.0, 2.0, 5.0)  # times a power of ten, on the axis of latencies
_NAMES = ("P50", "P95", "P99")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadLine:
    """One quantile of the points of one loop and batch."""

    tone: int  # which of the template's colours
    is_open: bool
    label: str  # which batch it is of, "" where another line says so, or there is one alone
    points: str  # SVG points
    dots: tuple[Dot, ...]
    bars: tuple[tuple[float, float, float], ...]  # x, and y of the interval's ends


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlot:
    """A picture as shapes."""

    title: str
    summary: str
    x_label: str
    lines: tuple[LoadLine, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def load_svg(view: MeasuredLoad) -> str:
    """Return the curve as an SVG document."""
    return render("measured_load.svg.j2", plot=_plot(view), names=_NAMES) + "\n"


def _plot(view: MeasuredLoad) -> LoadPlot:
    has_batches = len({point.batch for point in view.points}) > 1
    most = max(_across(point, has_batches=has_batches) for point in view.points)
    times = [
        time
        for point in view.points
        for each in _quantiles(point)
        for time in (each.seconds, each.low, each.high)
        if time
    ]
    x = Scale(0.0, most * 1.05, _LEFT, _RIGHT)
    y = Scale(math.log10(min(times) / 1.25), math.log10(max(times) * 1.25), _BOTTOM, _TOP)
    ordered = sorted(view.points, key=_order)
    groups = [list(points) for _, points in groupby(ordered, key=_group)]
    # Of a batch with both loops the open one, which sorts last, has its name.
    labelled = list({points[0].batch: points for points in groups}.values()) if has_batches else []
    lines = [
        _line(tone, points, x, y, has_batches=has_batches, has_label=points in labelled)
        for points in groups
        for tone in range(len(_NAMES))
    ]
    return LoadPlot(
        title=load_title(view),
        summary=" ".join(load_notes(view)) or "What is answered a second, and how long that takes",
        x_label=f"answered a second: {'requests times batch' if has_batches else 'requests'}",
        lines=tuple(lines),
        x_ticks=tuple(Tick(x.at(at), f"{at:g}") for at in nice_ticks(0.0, most)),
        y_ticks=tuple(_y_ticks(y)),
    )


def _group(point: MeasuredPoint) -> tuple[str, int]:
    return point.mode, point.batch


def _order(point: MeasuredPoint) -> tuple[str, int, float]:
    return (*_group(point), point.concurrency or point.offered_per_second or 0.0)


def _across(point: MeasuredPoint, *, has_batches: bool) -> float:
    return point.throughput_per_second * (point.batch if has_batches else 1)


def _quantiles(point: MeasuredPoint) -> tuple[Quantile, Quantile, Quantile]:
    return point.p50, point.p95, point.p99


def _line(
    tone: int,
    points: list[MeasuredPoint],
    x: Scale,
    y: Scale,
    *,
    has_batches: bool,
    has_label: bool,
) -> LoadLine:
    placed = [
        (x.at(_across(point, has_batches=has_batches)), _quantiles(point)[tone], point)
        for point in points
    ]
    dots = tuple(
        Dot(at, _height(y, each.seconds), _title(tone, each, point)) for at, each, point in placed
    )
    is_tail = tone == len(_NAMES) - 1
    return LoadLine(
        tone=tone,
        is_open=points[0].mode is Mode.OPEN,
        label=f"batch {points[0].batch}" if tone == 0 and has_label else "",
        points=" ".join(f"{dot.x:g},{dot.y:g}" for dot in dots),
        dots=dots,
        bars=tuple(
            (at, _height(y, each.low), _height(y, each.high))
            for at, each, _ in placed
            if is_tail and each.low and each.high
        ),
    )


def _height(y: Scale, seconds: float) -> float:
    return y.at(math.log10(seconds))


def _title(tone: int, each: Quantile, point: MeasuredPoint) -> str:
    return (
        f"{load_name(point)}, batch {point.batch}: {rate(point.throughput_per_second)}, "
        f"{_NAMES[tone]} {figures.seconds(each.seconds)}"
    )


def _y_ticks(y: Scale) -> list[Tick]:
    powers = range(math.floor(y.low), math.ceil(y.high) + 1)
    marks = [mark * 10.0**power for power in powers for mark in _MARKS]
    return [
        Tick(_height(y, mark), figures.seconds(mark))
        for mark in marks
        if y.low <= math.log10(mark) <= y.high
    ]
