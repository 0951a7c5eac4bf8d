"""Draws rows of names and figures, with a bar below each name."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_service.rendering.chart.axis import Axis
from perfledger_service.rendering.chart.marks import Anchor, BarMark, Mark, TextMark, Tone
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.chart.plot_area import EDGE

_ROW_HEIGHT = 34.0
_RIGHT = 420.0  # beside the bars, for their figures
# Units right of the bars.
_FIGURE_END, _SHARE_END, _DETAIL = 78.0, 138.0, 150.0
_NAME_ABOVE, _FIGURE_BELOW = -7.0, 6.0  # relative to the middle of the row
_BAR = (0.55, 0.82)  # top and bottom, as shares of the row


@dataclass(frozen=True, slots=True, kw_only=True)
class BarRow:
    """One row; `part` is the bar's share of the longest one."""

    name: str  # untrusted
    short: str  # shortened to fit on a line
    part: float
    figure: str
    share: str  # "" where it is not a share of anything
    detail: str
    tone: Tone


def bar_rows_chart(title: str, rows: Sequence[BarRow], *, is_numbered: bool = False) -> Chart:
    """Return the rows as a chart, numbered like the dots of the other charts."""
    detail_start = _DETAIL if any(row.share for row in rows) else _FIGURE_END + 12.0
    marks: list[Mark] = []
    for number, row in enumerate(rows):
        name = f"{number + 1} {row.short}" if is_numbered else row.short
        marks += _marks(row, number, name, detail_start=detail_start)
    return Chart(
        x=Axis(low=0.0, high=1.0),
        y=Axis(low=float(len(rows)), high=0.0, has_grid=False),
        marks=tuple(marks),
        title=title,
        height=_ROW_HEIGHT * len(rows),
        left=EDGE,
        right=_RIGHT,
    )


def _marks(row: BarRow, number: int, name: str, *, detail_start: float) -> Iterator[Mark]:
    """Yield the name, and on the line below it the bar with its details."""
    middle = number + 0.5
    top, bottom = _BAR
    yield TextMark(x=0.0, y=middle, text=name, dy=_NAME_ABOVE, title=row.name, is_soft=False)
    yield BarMark(
        x=(0.0, row.part), y=(number + top, number + bottom), tone=row.tone, title=row.name
    )
    for text, dx, anchor in (
        (row.figure, _FIGURE_END, Anchor.END),
        (row.share, _SHARE_END, Anchor.END),
        (row.detail, detail_start, Anchor.START),
    ):
        if text:
            is_soft = text is not row.figure
            yield TextMark(
                x=1.0, y=middle, text=text, dx=dx, dy=_FIGURE_BELOW, anchor=anchor, is_soft=is_soft
            )
