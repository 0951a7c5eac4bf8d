"""Writes pictures as SVG that follows the light or dark theme and loads nothing."""

from collections.abc import Iterator
from itertools import chain
from math import inf
from textwrap import wrap

from perfledger_service.rendering.chart.axis import Tick
from perfledger_service.rendering.chart.elements import element, group_element, text_element
from perfledger_service.rendering.chart.legend import legend_rows
from perfledger_service.rendering.chart.mark_shapes import end_labels, mark_label, mark_shape
from perfledger_service.rendering.chart.marks import Anchor, BandMark, LineMark, RuleMark
from perfledger_service.rendering.chart.picture import WIDTH, Chart, Picture
from perfledger_service.rendering.chart.plot_area import (
    CHARACTER_WIDTH,
    DETAIL_HEIGHT,
    EDGE,
    NAME_WIDTH,
    PlotArea,
    fit_text,
    plot_area,
)
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import ELLIPSIS, clean

_LINE = 17.0  # height of a line of small text
_HEADING = 21.0
_GAP = 14.0  # between two charts
_ABOVE_PLOT = 11.0
_BELOW_SUMMARY = 5.0
_ROUNDING = 1e-6
_MAX_TITLE, _MAX_TEXT = 200, 4000
_TITLE_CHARACTERS, _TEXT_CHARACTERS = 70, 96  # of a line
_TITLE_LINES, _SUMMARY_LINES = 2, 4


def picture_svg(picture: Picture) -> str:
    """Return a standalone document, with a title and a description for screen readers."""
    return _document(picture, label="", has_style=True) + "\n"


def embedded_svg(picture: Picture | Chart, *, label: str, has_style: bool = False) -> str:
    """Return a picture, or one chart, to embed in a page; `label` is for screen readers.

    `has_style` adds the styles, for a page that does not load picture.css.
    """
    if isinstance(picture, Chart):
        picture = Picture(title="", charts=(picture,))
    return _document(picture, label=label, has_style=has_style)


def _document(picture: Picture, *, label: str, has_style: bool) -> str:
    parts, height = _body(picture)
    return render(
        "picture.svg.j2",
        title=clean(picture.title, limit=_MAX_TITLE) if picture.title else "",
        summary=clean(picture.summary, limit=_MAX_TEXT) if picture.summary else "",
        label=clean(label, limit=_MAX_TITLE) if label else "",
        has_style=has_style,
        width=f"{max((chart.width for chart in picture.charts), default=WIDTH):g}",
        height=f"{round(height, 2):g}",
        body="\n".join(parts),
    )


def _body(picture: Picture) -> tuple[list[str], float]:
    """Return the elements of a picture and its height."""
    parts: list[str] = []
    y = 4.0
    for line in _lines(picture.title, _TITLE_CHARACTERS)[:_TITLE_LINES]:
        y += _HEADING
        parts.append(text_element(EDGE, y - 3, line, kind="heading"))
    for line in _cut(_lines(picture.summary, _TEXT_CHARACTERS), _SUMMARY_LINES):
        y += _LINE
        parts.append(text_element(EDGE, y - 3, line, kind="soft"))
    y += _BELOW_SUMMARY if picture.title else 0.0
    for chart in picture.charts:
        shapes, height = _chart(chart)
        parts.append(group_element(shapes, down=y))
        y += height + (_GAP if chart is not picture.charts[-1] or picture.notes else 0.0)
    for line in chain.from_iterable(_lines(note, _TEXT_CHARACTERS) for note in picture.notes):
        y += _LINE
        parts.append(text_element(EDGE, y - 3, line, kind="soft"))
    return parts, y + 6


def _chart(chart: Chart) -> tuple[list[str], float]:
    parts, y = _head(chart)
    area = plot_area(chart, top=y + (_ABOVE_PLOT if parts else 0.0))
    parts += _rows(area)
    parts += _columns(area)
    shapes = [shape for mark in chart.marks if (shape := mark_shape(mark, area))]
    parts += _clipped_shapes(shapes, area) if _leaves_plot(chart) else shapes
    parts += [label for mark in chart.marks if (label := mark_label(mark, area))]
    parts += end_labels(area)
    y = area.bottom + (20 if chart.x.ticks else 2)
    if chart.x.title:
        y += _LINE
        parts.append(text_element(area.right, y - 3, chart.x.title, kind="soft", anchor=Anchor.END))
    return parts, y


def _head(chart: Chart) -> tuple[list[str], float]:
    """Return the elements above a plot, and their height."""
    parts: list[str] = []
    y = 0.0
    characters = int((chart.width - 2 * EDGE) / CHARACTER_WIDTH)
    for line in _lines(chart.title, _TITLE_CHARACTERS)[:_TITLE_LINES]:
        y += _HEADING
        parts.append(text_element(EDGE, y - 3, line, kind="heading"))
    for line in _lines(chart.caption, characters):
        y += _LINE
        parts.append(text_element(EDGE, y - 3, line, kind="soft"))
    for row in legend_rows(chart.legend, width=chart.width):
        parts.append(group_element(row, down=y + 5))
        y += _LINE
    if chart.y.title:
        y += _LINE
        parts.append(text_element(EDGE, y - 1, chart.y.title, kind="soft"))
    elif any(isinstance(mark, RuleMark) and mark.x and mark.label for mark in chart.marks):
        y += _LINE
    return parts, y


def _rows(area: PlotArea) -> Iterator[str]:
    """Yield the ticks of the y axis: lines across, or the names of rows."""
    has_grid = area.chart.y.has_grid
    for tick in area.chart.y.ticks:
        y = area.down(tick.value)
        if has_grid:
            yield element(
                "line", {"class": "grid", "x1": area.left, "x2": area.right, "y1": y, "y2": y}
            )
        yield from _row_label(tick, area, y)


def _row_label(tick: Tick, area: PlotArea, y: float) -> Iterator[str]:
    has_grid = area.chart.y.has_grid
    longest, character = area.left - 8 - EDGE / 2, CHARACTER_WIDTH if has_grid else NAME_WIDTH
    kind = "soft" if has_grid else "strong" if tick.is_strong else ""
    label = fit_text(tick.label, width=longest, character=character)
    title = tick.title or (tick.label if ELLIPSIS in label else "")
    end, right, line = Anchor.END, area.right + 10, y + 4 - DETAIL_HEIGHT * len(tick.details) / 2
    yield text_element(area.left - 8, line, label, kind=kind, anchor=end, title=title)
    for number, detail in enumerate(tick.details, start=1):
        detail_lines, below = fit_text(detail, width=longest), line + DETAIL_HEIGHT * number
        yield text_element(area.left - 8, below, detail_lines, kind="soft", anchor=end)
    if tick.figure:
        yield text_element(right, line if tick.figure_detail else y + 4, tick.figure)
    if tick.figure_detail:
        yield text_element(right, line + DETAIL_HEIGHT, tick.figure_detail, kind="soft")


def _columns(area: PlotArea) -> Iterator[str]:
    """Yield the ticks of the x axis, without labels that would touch the previous one."""
    ends = {"y1": area.top, "y2": area.bottom}
    last = -inf
    for tick in area.chart.x.ticks:
        x, half = area.across(tick.value), CHARACTER_WIDTH * len(tick.label) / 2
        if area.chart.x.has_grid:
            yield element("line", {"class": "grid", "x1": x, "x2": x} | ends)
        middle = min(max(x, half), area.chart.width - half)
        if middle - half > last:
            last = middle + half + 4
            below = area.bottom + 16
            yield text_element(middle, below, tick.label, kind="soft", anchor=Anchor.MIDDLE)
    if area.chart.y.has_grid:
        y = area.bottom
        yield element(
            "line", {"class": "axis", "x1": area.left, "x2": area.right, "y1": y, "y2": y}
        )


def _leaves_plot(chart: Chart) -> bool:
    """Return whether a line or a band leaves the range of the y axis."""
    values: list[float] = []
    for mark in chart.marks:
        match mark:
            case LineMark():
                values += [y for _, y in mark.points]
            case BandMark():
                values += [y for _, *ends in mark.points for y in ends]
            case _:
                continue
    return any(abs(chart.y.share(value) - 0.5) > 0.5 + _ROUNDING for value in values)


def _clipped_shapes(shapes: list[str], area: PlotArea) -> Iterator[str]:
    """Yield shapes clipped to the plot; plots of equal area on a page share a clip path's name."""
    width, height = area.right - area.left, area.bottom - area.top
    corners = (area.left, area.top, width, height)
    name = "clip-" + "-".join(f"{corner:.0f}" for corner in corners)
    frame = element("rect", dict(zip(("x", "y", "width", "height"), corners, strict=True)))
    yield f'<clipPath id="{name}">{frame}</clipPath>'
    yield f'<g clip-path="url(#{name})">'
    yield from shapes
    yield "</g>"


def _lines(text: str, characters: int) -> list[str]:
    return wrap(clean(text, limit=_MAX_TEXT), characters) if text else []


def _cut(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], clean(" ".join(lines[most - 1 :]), limit=_TEXT_CHARACTERS)]
