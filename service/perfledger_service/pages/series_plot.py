"""Turns a series over commits into a plot that stands without a script, and into a script's data.

Base runs are the line with its band of intervals; heads of pull requests are dots beside it, for
they may never be merged. Coordinates are in the plot's own units, y downwards.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from perfledger.records import Side
from perfledger_service.pages import facts, figures
from perfledger_service.pages.scale import Dot, Scale, Tick, nice_ticks
from perfledger_service.views import SeriesPoint, SeriesView

# As the template draws it.
_LEFT, _RIGHT = 60.0, 944.0
_TOP, _BOTTOM = 20.0, 256.0
_ROOM = 0.1  # of the range, free above and below
_MAX_LABELS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One point's interval, upright."""

    x: float
    low: float
    high: float
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPlot:
    """A series as shapes."""

    unit: str
    line: str  # SVG points
    band: str  # SVG points of a closed shape
    base: tuple[Dot, ...]
    head: tuple[Dot, ...]
    bars: tuple[Bar, ...]  # the heads' intervals, and a lone base's
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def series_plot(view: SeriesView) -> SeriesPlot | None:
    """Return the plot of a series, or None if it has no point that can be drawn."""
    points = drawable(view.points)
    if not points:
        return None
    factor, unit = _axis(view, points)
    low, high = min(p.low for p in points) * factor, max(p.high for p in points) * factor
    room = (high - low) * _ROOM or abs(high) * _ROOM or 1.0
    y = Scale(low - room, high + room, _BOTTOM, _TOP)
    x = Scale(-0.5, len(points) - 0.5, _LEFT, _RIGHT)
    placed = [(x.at(place), point) for place, point in enumerate(points)]
    base = [(at, point) for at, point in placed if point.side is Side.BASE]
    head = [(at, point) for at, point in placed if point.side is Side.HEAD]
    upper = [(at, y.at(point.high * factor)) for at, point in base]
    lower = [(at, y.at(point.low * factor)) for at, point in base]
    dots = {
        at: Dot(at, y.at(point.center * factor), _title(point, factor, unit))
        for at, point in placed
    }
    every = math.ceil(len(placed) / _MAX_LABELS)
    return SeriesPlot(
        unit=unit,
        line=_svg_points((at, dots[at].y) for at, _ in base),
        band=_svg_points((*upper, *reversed(lower))),
        base=tuple(dots[at] for at, _ in base),
        head=tuple(dots[at] for at, _ in head),
        bars=tuple(
            Bar(x=at, low=y.at(p.low * factor), high=y.at(p.high * factor), side=p.side)
            for at, p in placed
            if p.side is Side.HEAD or len(base) == 1
        ),
        x_ticks=tuple(Tick(at, facts.short_sha(p.sha)[:7]) for at, p in placed[::every]),
        y_ticks=tuple(Tick(y.at(at), f"{at:.5g}") for at in nice_ticks(y.low, y.high)),
    )


def series_data(view: SeriesView) -> Mapping[str, object]:
    """Return the same points as aligned columns for the chart's script; null where there is none.

    `x` counts points, since commits are not evenly apart in time and some were measured twice.
    """
    points = drawable(view.points)
    factor, unit = _axis(view, points)
    columns = {
        f"{side}_{name}": [
            getattr(point, name) * factor if point.side is side else None for point in points
        ]
        for side in Side
        for name in ("center", "low", "high")
    }
    labels = [f"{facts.short_sha(point.sha)[:7]} {point.side}" for point in points]
    return {"unit": unit, "x": list(range(len(points))), "labels": labels, **columns}


def drawable(points: Iterable[SeriesPoint]) -> tuple[SeriesPoint, ...]:
    """Return the points whose numbers can be drawn."""
    return tuple(p for p in points if all(map(math.isfinite, (p.low, p.center, p.high))))


def _axis(view: SeriesView, points: Iterable[SeriesPoint]) -> tuple[float, str]:
    largest = max((abs(point.center) for point in points), default=0.0)
    return figures.axis(largest, view.unit)


def _title(point: SeriesPoint, factor: float, unit: str) -> str:
    sha = facts.short_sha(point.sha)[:7]
    return f"{sha} {point.side}: {point.center * factor:.4g}{figures.NBSP}{unit}".rstrip()


def _svg_points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)
