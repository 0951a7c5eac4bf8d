"""Holds the marks of charts (lines, bands, dots, bars, rules and text) in axis values."""

from dataclasses import dataclass
from enum import StrEnum

Span = tuple[float, float]  # two values along one axis


class Tone(StrEnum):
    """A colour of the style sheet, which has a light and a dark form of each."""

    INK = "ink"
    MUTED = "muted"
    TRACK = "track"
    BLUE = "blue"
    ORANGE = "orange"
    GREEN = "green"
    PURPLE = "purple"
    RED = "red"
    TEAL = "teal"
    OLIVE = "olive"
    PINK = "pink"
    FOREST = "forest"
    SLATE = "slate"
    AMBER = "amber"


# For series without a colour of their own, in this order.
SERIES_TONES = tuple(Tone)[3:]


class Anchor(StrEnum):
    """The point of a text that is placed at its position."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineMark:
    """A line through points (x, y); `label` is right of the plot, at the line's end."""

    points: tuple[tuple[float, float], ...]
    tone: Tone = Tone.BLUE
    width: float = 2.0
    is_dashed: bool = False
    title: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BandMark:
    """An area between two lines: points are (x, low, high)."""

    points: tuple[tuple[float, float, float], ...]
    tone: Tone = Tone.BLUE
    opacity: float = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class DotMark:
    """A point; the radius is in units of the picture, `title` is shown on hover."""

    x: float
    y: float
    tone: Tone = Tone.BLUE
    radius: float = 3.5
    opacity: float = 1.0
    is_open: bool = False
    title: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarMark:
    """A rectangle; None for x or y means the whole axis. `label` is inside, if there is room."""

    x: Span | None = None
    y: Span | None = None
    tone: Tone = Tone.BLUE
    opacity: float = 1.0
    is_open: bool = False
    title: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMark:
    """A line across the whole plot at one value of x or of y."""

    x: float | None = None
    y: float | None = None
    tone: Tone = Tone.MUTED
    width: float = 1.0
    is_dashed: bool = False
    title: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMark:
    """Text at a point, offset by `dx` and `dy` units of the picture."""

    x: float
    y: float
    text: str
    dx: float = 0.0
    dy: float = 0.0
    anchor: Anchor = Anchor.START
    is_soft: bool = True
    title: str = ""


Mark = LineMark | BandMark | DotMark | BarMark | RuleMark | TextMark
