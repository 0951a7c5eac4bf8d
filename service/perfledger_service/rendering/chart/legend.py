"""Draws the legend of a chart in rows."""

from collections.abc import Sequence
from typing import assert_never

from perfledger_service.rendering.chart.elements import Attributes, element, text_element
from perfledger_service.rendering.chart.picture import KeyShape, LegendKey
from perfledger_service.rendering.chart.plot_area import CHARACTER_WIDTH, EDGE

_SHAPE = 20.0  # width of a shape with the gap to its label
_GAP = 15.0
_MIDDLE = 6.0


def legend_rows(keys: Sequence[LegendKey], *, width: float) -> tuple[list[str], ...]:
    """Return the elements of each row, as few rows as fit the width."""
    rows: list[list[str]] = []
    x = width
    for key in keys:
        wide = _SHAPE + (_GAP + CHARACTER_WIDTH * len(key.label) if key.label else 0.0)
        if x + wide > width - EDGE:
            rows.append([])
            x = EDGE
        name, attributes = _key_shape(key, x)
        rows[-1].append(element(name, attributes))
        if key.label:
            rows[-1].append(text_element(x + _SHAPE, _MIDDLE + 4, key.label, kind="soft"))
        x += wide
    return tuple(rows)


def _key_shape(key: LegendKey, x: float) -> tuple[str, Attributes]:
    line = {"stroke-width": 2, "x1": x, "x2": x + 15, "y1": _MIDDLE, "y2": _MIDDLE}
    circle = {"cx": x + 8, "cy": _MIDDLE}
    match key.shape:
        case KeyShape.BOX:
            opacity = {} if key.opacity == 1 else {"fill-opacity": key.opacity}
            box = {"x": x + 1, "y": 0, "width": 14, "height": 11, "rx": 2}
            return "rect", {"class": f"fill {key.tone}"} | opacity | box
        case KeyShape.LINE:
            return "line", {"class": f"line {key.tone}"} | line
        case KeyShape.DASHES:
            return "line", {"class": f"line {key.tone} dashes"} | line
        case KeyShape.DOT:
            return "circle", {"class": f"dot {key.tone}"} | circle | {"r": 4}
        case KeyShape.RING:
            return "circle", {"class": f"line {key.tone}", "stroke-width": 2} | circle | {"r": 4.5}
        case _ as unreachable:
            assert_never(unreachable)
