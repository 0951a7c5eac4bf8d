"""Holds charts, and pictures that show several charts under one title."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger_service.rendering.chart.axis import Axis
from perfledger_service.rendering.chart.marks import Mark, Tone

# Width in units: small text stays legible when the picture is 400 pixels wide.
WIDTH = 720.0


class KeyShape(StrEnum):
    """The shape of a legend entry."""

    BOX = "box"
    LINE = "line"
    DASHES = "dashes"
    DOT = "dot"
    RING = "ring"


@dataclass(frozen=True, slots=True, kw_only=True)
class LegendKey:
    """One entry of a legend."""

    label: str
    tone: Tone
    shape: KeyShape = KeyShape.BOX
    opacity: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Two axes with marks; sizes are in units of the picture, `height` is that of the plot alone.

    A `height` of None fits the rows, or is 200 without rows. A margin of None fits the labels.
    """

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: str = ""
    caption: str = ""
    legend: tuple[LegendKey, ...] = ()
    width: float = WIDTH
    height: float | None = None
    left: float | None = None
    right: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Charts below each other; `notes` come below the last one."""

    title: str
    summary: str = ""
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = ()
