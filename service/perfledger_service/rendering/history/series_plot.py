"""Draws a series over commits, and prepares the same points for the page's script.

Base runs are the line with its band of intervals; heads of pull requests are dots, because they may
never be merged.
"""

import math
from collections.abc import Iterable, Mapping

from perfledger.records import Side
from perfledger_service.rendering.chart.axis import linear_axis, places_axis, widened
from perfledger_service.rendering.chart.marks import BandMark, DotMark, LineMark, Mark, Tone
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.layout import number_format, provenance_facts
from perfledger_service.values.upload_views import SeriesPoint, SeriesView

_MARGIN = 0.1  # of the range, above and below
_MAX_LABELS = 10
_TONES = {Side.BASE: Tone.BLUE, Side.HEAD: Tone.ORANGE}


def series_chart(view: SeriesView) -> Chart | None:
    """Return the chart of a series, or None without a point to draw."""
    points = drawable(view.points)
    if not points:
        return None
    factor, unit = _axis(view, points)
    low, high = min(p.low for p in points) * factor, max(p.high for p in points) * factor
    base = [(place, p) for place, p in enumerate(points) if p.side is Side.BASE]
    marks: list[Mark] = [
        BandMark(points=tuple((at, p.low * factor, p.high * factor) for at, p in base)),
        LineMark(points=tuple((at, p.center * factor) for at, p in base)),
    ]
    for place, point in enumerate(points):
        if point.side is Side.HEAD or len(base) == 1:  # a band needs two
            ends = (place, point.low * factor), (place, point.high * factor)
            marks.append(LineMark(points=ends, tone=_TONES[point.side]))
        title = _title(point, factor, unit)
        marks.append(
            DotMark(x=place, y=point.center * factor, tone=_TONES[point.side], title=title)
        )
    return Chart(
        x=places_axis([provenance_facts.short_sha(p.sha)[:7] for p in points], most=_MAX_LABELS),
        y=linear_axis(*widened(low, high, share=_MARGIN), title=unit),
        marks=tuple(marks),
        height=220.0,
    )


def series_data(view: SeriesView) -> Mapping[str, object]:
    """Return the same points as aligned columns for the chart's script; null for missing ones.

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
    labels = [f"{provenance_facts.short_sha(point.sha)[:7]} {point.side}" for point in points]
    return {"unit": unit, "x": list(range(len(points))), "labels": labels, **columns}


def drawable(points: Iterable[SeriesPoint]) -> tuple[SeriesPoint, ...]:
    """Return the points whose numbers can be drawn."""
    return tuple(p for p in points if all(map(math.isfinite, (p.low, p.center, p.high))))


def _axis(view: SeriesView, points: Iterable[SeriesPoint]) -> tuple[float, str]:
    largest = max((abs(point.center) for point in points), default=0.0)
    return number_format.axis(largest, view.unit)


def _title(point: SeriesPoint, factor: float, unit: str) -> str:
    sha = provenance_facts.short_sha(point.sha)[:7]
    return f"{sha} {point.side}: {point.center * factor:.4g} {unit}".rstrip()
