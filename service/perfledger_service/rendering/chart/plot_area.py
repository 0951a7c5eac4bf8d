"""Places a chart's plot: computes margins from labels, and coordinates from values."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_service.rendering.chart.axis import Axis, Tick
from perfledger_service.rendering.chart.marks import LineMark
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.layout.escape import ELLIPSIS, clean

# Of small text on a narrow screen, where text is larger: what fits there fits anywhere.
CHARACTER_WIDTH = 7.5
LABEL_HEIGHT = 14.0
EDGE = 12.0  # padding on either side of the picture
DETAIL_HEIGHT = 15.0  # of a line below a row's name

_GAP = 8.0  # between labels and the plot
_MIN_MARGIN, _MAX_MARGIN = 24.0, 280.0
NAME_WIDTH = 7.7  # of a character of a row's name
_BOLD_WIDTH = 8.6
_SHORTEST, _LONGEST = 4, 400  # characters
_PLOT_HEIGHT, _ROW_HEIGHT = 200.0, 26.0
_LEADER = 18.0  # from a line's end to its label


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotArea:
    """The rectangle that a chart's axes span, in units of the picture."""

    chart: Chart
    left: float
    right: float
    top: float
    bottom: float

    def across(self, x: float) -> float:
        """Return the coordinate of a value of the x axis."""
        return self.left + self.chart.x.share(x) * (self.right - self.left)

    def down(self, y: float) -> float:
        """Return the coordinate of a value of the y axis."""
        return self.bottom - self.chart.y.share(y) * (self.bottom - self.top)


def plot_area(chart: Chart, *, top: float) -> PlotArea:
    """Return a chart's plot area, which begins at `top`."""
    left = _left_margin(chart) if chart.left is None else chart.left
    right = _right_margin(chart) if chart.right is None else chart.right
    height = _height(chart) if chart.height is None else chart.height
    return PlotArea(chart=chart, left=left, right=chart.width - right, top=top, bottom=top + height)


def fit_text(text: str, *, width: float, character: float = CHARACTER_WIDTH) -> str:
    """Return clean text that fits; longer text keeps both ends, where long names differ."""
    limit = max(int(width / character), _SHORTEST)
    line = clean(text, limit=_LONGEST)
    half = limit // 2
    return line if len(line) <= limit else f"{line[: half - 1]}{ELLIPSIS}{line[-half:]}"


def spread_labels(preferred: Sequence[float], *, top: float, bottom: float) -> tuple[float, ...]:
    """Return label heights, from the top down, as close as possible to those requested."""
    heights: list[float] = []
    for height in preferred:
        heights.append(max(height, heights[-1] + LABEL_HEIGHT if heights else top))
    most = bottom
    for number in reversed(range(len(heights))):  # labels below the plot are pushed back up
        heights[number] = min(heights[number], most)
        most = heights[number] - LABEL_HEIGHT
    return tuple(heights)


def _height(chart: Chart) -> float:
    if chart.y.has_grid:
        return _PLOT_HEIGHT
    lines = max((len(tick.details) for tick in chart.y.ticks), default=0)
    lines = max([lines, *(bool(tick.figure_detail) for tick in chart.y.ticks)])
    return (_ROW_HEIGHT + DETAIL_HEIGHT * lines) * max(len(chart.y.ticks), 1)


def _left_margin(chart: Chart) -> float:
    widest = max((_label_width(tick, chart.y) for tick in chart.y.ticks), default=0.0)
    return min(max(EDGE + _GAP + widest, _MIN_MARGIN), _MAX_MARGIN)


def _label_width(tick: Tick, axis: Axis) -> float:
    character = CHARACTER_WIDTH if axis.has_grid else _BOLD_WIDTH if tick.is_strong else NAME_WIDTH
    details = max(map(len, tick.details), default=0)
    return max(character * len(tick.label), CHARACTER_WIDTH * details)


def _right_margin(chart: Chart) -> float:
    labels = [mark.label for mark in chart.marks if isinstance(mark, LineMark)]
    labels += [word for tick in chart.y.ticks for word in (tick.figure, tick.figure_detail)]
    longest = max(map(len, labels), default=0)
    needed = _LEADER + EDGE + CHARACTER_WIDTH * longest if longest else 0.0
    return min(max(needed, _MIN_MARGIN), _MAX_MARGIN)
