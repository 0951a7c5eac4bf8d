"""Draws the marks of a chart as SVG elements."""

from collections.abc import Iterator
from typing import assert_never

from perfledger_service.rendering.chart.elements import Attributes, element, text_element
from perfledger_service.rendering.chart.marks import (
    Anchor,
    BandMark,
    BarMark,
    DotMark,
    LineMark,
    Mark,
    RuleMark,
    TextMark,
)
from perfledger_service.rendering.chart.plot_area import (
    CHARACTER_WIDTH,
    PlotArea,
    fit_text,
    spread_labels,
)
from perfledger_service.rendering.layout.escape import clean

_BASELINE = 4.0  # from the middle of a line of text down to its baseline
_MIN_WIDTH = 0.75  # of a bar: a narrower one would be invisible
_PALE = 0.6  # less opaque bars have dark labels
_INSIDE_WIDTH = 6.2  # of a character inside a bar
_MIN_LABEL = 6  # characters; a shorter part of a name is meaningless


def mark_shape(mark: Mark, area: PlotArea) -> str:
    """Return a mark's shape, to be clipped to the plot; "" for text."""
    match mark:
        case LineMark():
            return element("polyline", _line(mark, area), title=mark.title)
        case BandMark():
            return element("polygon", _band(mark, area))
        case DotMark():
            return element("circle", _dot(mark, area), title=mark.title)
        case BarMark():
            return element("rect", _bar(mark, area), title=mark.title)
        case RuleMark():
            return element("polyline", _line(_across(mark, area), area), title=mark.title)
        case TextMark():
            return ""
        case _ as unreachable:
            assert_never(unreachable)


def mark_label(mark: Mark, area: PlotArea) -> str:
    """Return a mark's label, which may extend beyond the plot; "" without one."""
    match mark:
        case DotMark() if mark.label:
            x, y = area.across(mark.x) + mark.radius + 3, area.down(mark.y) + _BASELINE
            return text_element(x, y, mark.label, kind="soft")
        case BarMark() if mark.label:
            return _bar_label(mark, area)
        case RuleMark() if mark.label:
            return _rule_label(mark, area)
        case TextMark():
            x = area.across(mark.x) + mark.dx
            y = area.down(mark.y) + mark.dy + _BASELINE
            kind = "soft" if mark.is_soft else ""
            return text_element(x, y, mark.text, kind=kind, anchor=mark.anchor, title=mark.title)
        case _:
            return ""


def end_labels(area: PlotArea) -> Iterator[str]:
    """Yield the labels at the line ends, spread so that none overlap, and their leader lines."""
    lines = [mark for mark in area.chart.marks if isinstance(mark, LineMark) and mark.label]
    lines.sort(key=lambda line: -line.points[-1][1])
    ends = [min(max(area.down(line.points[-1][1]), area.top), area.bottom) for line in lines]
    heights = spread_labels(ends, top=area.top, bottom=area.bottom)
    widest = area.chart.width - area.right - 20
    for line, end, height in zip(lines, ends, heights, strict=True):
        start = {"class": f"line {line.tone}", "stroke-width": 0.6}
        yield element(
            "line", start | {"x1": area.right + 1, "y1": end, "x2": area.right + 14, "y2": height}
        )
        label, kind = fit_text(line.label, width=widest), f"soft tinted {line.tone}"
        title = line.title or line.label
        yield text_element(area.right + 18, height + _BASELINE, label, kind=kind, title=title)


def _line(mark: LineMark, area: PlotArea) -> Attributes:
    points = [(area.across(x), area.down(y)) for x, y in mark.points]
    dashes = " dashes" if mark.is_dashed else ""
    shape = {"class": f"line {mark.tone}{dashes}", "stroke-width": mark.width}
    return shape | {"points": _points(points)}


def _band(mark: BandMark, area: PlotArea) -> Attributes:
    upper = [(area.across(x), area.down(high)) for x, _, high in mark.points]
    lower = [(area.across(x), area.down(low)) for x, low, _ in reversed(mark.points)]
    shape = {"class": f"fill {mark.tone}", "fill-opacity": mark.opacity}
    return shape | {"points": _points([*upper, *lower])}


def _dot(mark: DotMark, area: PlotArea) -> Attributes:
    kind = "line" if mark.is_open else "dot"
    opacity = {} if mark.opacity == 1 else {"fill-opacity": mark.opacity}
    position = {"cx": area.across(mark.x), "cy": area.down(mark.y), "r": mark.radius}
    return {"class": f"{kind} {mark.tone}"} | opacity | position


def _bar(mark: BarMark, area: PlotArea) -> Attributes:
    left, right, top, bottom = _sides(mark, area)
    kind = "line dashes" if mark.is_open else "fill"
    opacity = {} if mark.opacity == 1 else {"fill-opacity": mark.opacity}
    position = {
        "x": left,
        "y": top,
        "width": max(right - left, _MIN_WIDTH),
        "height": bottom - top,
    }
    round_corners = {} if mark.x is None or mark.y is None else {"rx": 2}
    return {"class": f"{kind} {mark.tone}"} | opacity | position | round_corners


def _sides(mark: BarMark, area: PlotArea) -> tuple[float, float, float, float]:
    x = (area.left, area.right) if mark.x is None else tuple(map(area.across, mark.x))
    y = (area.top, area.bottom) if mark.y is None else tuple(map(area.down, mark.y))
    return min(x), max(x), min(y), max(y)


def _bar_label(mark: BarMark, area: PlotArea) -> str:
    """Return the label inside a bar, shortened to fit; "" if too little would remain."""
    left, right, top, bottom = _sides(mark, area)
    longest = int((right - left - 4) / _INSIDE_WIDTH)
    if longest < min(len(mark.label), _MIN_LABEL):
        return ""
    kind = "inside" if mark.opacity >= _PALE else "upon"
    middle = (top + bottom) / 2 + _BASELINE
    label = clean(mark.label, limit=longest)
    return text_element((left + right) / 2, middle, label, kind=kind, anchor=Anchor.MIDDLE)


def _across(mark: RuleMark, area: PlotArea) -> LineMark:
    """Return the line of a rule, across the full length of the other axis."""
    x, y = area.chart.x, area.chart.y
    if mark.x is not None:
        points = ((mark.x, y.low), (mark.x, y.high))
    else:
        level = y.low if mark.y is None else mark.y
        points = ((x.low, level), (x.high, level))
    return LineMark(points=points, tone=mark.tone, width=mark.width, is_dashed=mark.is_dashed)


def _rule_label(mark: RuleMark, area: PlotArea) -> str:
    """Return the label above a vertical rule, or at the left end of a horizontal one."""
    kind = f"soft tinted {mark.tone}"
    if mark.x is None:
        y = area.bottom if mark.y is None else area.down(mark.y)
        return text_element(area.left + 6, y - 5, mark.label, kind=kind)
    half = CHARACTER_WIDTH * len(mark.label) / 2
    x = min(max(area.across(mark.x), half), area.chart.width - half)
    return text_element(x, area.top - 4, mark.label, kind=kind, anchor=Anchor.MIDDLE)


def _points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{round(x, 2):g},{round(y, 2):g}" for x, y in points)
