"""Turns parts, those of a trace or of two among them, into one SVG that stands alone.

It follows the reader's light or dark colours, loads nothing and runs nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from textwrap import wrap

from perfledger.profile import Bucket, Profile
from perfledger_service.pages import figures, words
from perfledger_service.pages.bottlenecks import bound_by, bound_by_change
from perfledger_service.pages.cost_plots import CurvePlot, TornadoPlot
from perfledger_service.pages.environment import render
from perfledger_service.pages.escape import clean
from perfledger_service.pages.explained import TWO_DEVICES
from perfledger_service.pages.kernel_rows import BarRow, bucket_rows, kernel_rows, operation_rows
from perfledger_service.pages.memory_plot import MemoryPlot, memory_plot, not_recorded
from perfledger_service.pages.profiled import MAX_READINGS, reading_value, shown_readings
from perfledger_service.pages.roofline_plot import RooflinePlot, roofline_plot
from perfledger_service.pages.timeline import TimelinePlot, longest_seconds, timeline_plot
from perfledger_service.pages.waterfall import WaterfallPlot, waterfall_plot
from perfledger_service.views import TraceDiffView, TraceView

MAX_ROWS = 15

_FIRST = 66.0  # y of the first part, below the title
_BARS_ROW, _BARS_ABOVE = 20.0, 44.0
_LEGEND_HEIGHT = 14.0
_ROOFLINE_HEIGHT = 360.0
_GAP = 16.0
_NOTE_LINE = 15.0
_NOTE_WIDTH = 160  # characters of a small text across the picture
_MAX_NOTE = 4000

Legend = tuple[tuple[str, str], ...]  # (tone, word)


class PartKind(StrEnum):
    """Which macro of the template draws a part."""

    WATERFALL = "waterfall"
    TIMELINE = "timeline"
    MEMORY = "memory"
    ROOFLINE = "roofline"
    CURVES = "curves"
    TORNADO = "tornado"
    BARS = "bars"
    LEGEND = "legend"
    NOTES = "notes"


@dataclass(frozen=True, slots=True)
class Bars:
    """Rows of names with bars; where they are numbered, a roofline's dots have these numbers."""

    rows: tuple[BarRow, ...]
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class Notes:
    """Lines of text."""

    lines: tuple[str, ...]


Plot = (
    WaterfallPlot
    | TimelinePlot
    | MemoryPlot
    | RooflinePlot
    | CurvePlot
    | TornadoPlot
    | Bars
    | Legend
    | Notes
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One picture of the sheet, and how high it is."""

    kind: PartKind
    title: str
    plot: Plot
    height: float
    y: float = 0.0


def trace_svg(view: TraceView) -> str:
    """Return the breakdown, the timeline, the roofline and the longest kernels of a trace."""
    profile = view.profile
    parts = [bars_part("Where the step goes", bucket_rows(profile))]
    whole = "The step nearest to the median" if profile.has_steps else "The whole recording"
    parts += _timelines({whole: profile})
    parts += _memories({"Memory in use": profile})
    kernels = kernel_rows(profile, most=MAX_ROWS)
    names = [row.name for row in kernels]
    roof = None if view.roof is None else roofline_plot(view.roof, names=names)
    if roof is not None:
        title = f"Roofline of {roof.summary}"
        parts.append(Part(kind=PartKind.ROOFLINE, title=title, plot=roof, height=_ROOFLINE_HEIGHT))
    parts.append(bars_part("Longest kernels", kernels, is_numbered=roof is not None))
    parts.append(bars_part("Operations with the most time", operation_rows(profile, most=MAX_ROWS)))
    if not any(part.height for part in parts):
        parts.append(notes_part(_reading_lines(profile)))
    step = f"{figures.seconds(profile.step_seconds)} a step" if profile.has_steps else "no steps"
    return svg_sheet(view.name, f"{step}; bound by {bound_by(view.classification)}", parts)


def _reading_lines(profile: Profile) -> list[str]:
    """Return the figures of a file that has no time to draw, a line each."""
    lines: list[str] = []
    for reading in shown_readings(profile.readings)[:MAX_READINGS]:
        subject = f" of {reading.subject}" if reading.subject else ""
        lines.append(f"{reading.name}{subject}: {' '.join(reading_value(reading)).strip()}")
    return lines


def trace_diff_svg(view: TraceDiffView) -> str:
    """Return the waterfall between two traces, and a step of each on one axis of time."""
    parts: list[Part] = []
    waterfall = waterfall_plot(view.explanation)
    if waterfall is not None:
        title = f"From base to head: {waterfall.summary}"
        parts.append(
            Part(kind=PartKind.WATERFALL, title=title, plot=waterfall, height=waterfall.height)
        )
    parts += _timelines(
        {"Base, a typical step": view.base.profile, "Head, a typical step": view.head.profile}
    )
    parts += _memories(
        {"Base, memory in use": view.base.profile, "Head, memory in use": view.head.profile}
    )
    for name, side in (("base", view.base), ("head", view.head)):
        rows = kernel_rows(side.profile, most=MAX_ROWS)
        rows = rows or operation_rows(side.profile, most=MAX_ROWS)
        parts.append(bars_part(f"What runs longest on {name}", rows))
    summary = bound_by_change(view.base.classification, view.head.classification)
    if not view.is_same_device:
        summary = f"{TWO_DEVICES} {summary}"
    return svg_sheet(f"{view.base.name} \N{RIGHTWARDS ARROW} {view.head.name}", summary, parts)


def legend(profiles: Sequence[Profile]) -> Legend:
    """Return the colours that the timelines of these profiles use, with their words."""
    used = {one.bucket for profile in profiles for one in profile.slices}
    return tuple((str(bucket), words.bucket(bucket)) for bucket in Bucket if bucket in used)


def svg_sheet(title: str, summary: str, parts: Sequence[Part]) -> str:
    """Return the parts below each other; those without any height are left out."""
    placed: list[Part] = []
    y = _FIRST
    for part in parts:
        if part.height > 0:
            placed.append(replace(part, y=y))
            y += part.height + _GAP
    return render("picture.svg.j2", title=title, summary=summary, parts=placed, height=y) + "\n"


def notes_part(notes: Sequence[str]) -> Part:
    """Return sentences as a part, each wrapped to the picture's width."""
    lines = tuple(
        line for note in notes for line in wrap(clean(note, limit=_MAX_NOTE), _NOTE_WIDTH)
    )
    height = _NOTE_LINE * len(lines)
    return Part(kind=PartKind.NOTES, title="", plot=Notes(lines), height=height)


def bars_part(title: str, rows: tuple[BarRow, ...], *, is_numbered: bool = False) -> Part:
    """Return rows of names with bars as a part; without rows it has no height."""
    height = _BARS_ABOVE + _BARS_ROW * len(rows) if rows else 0.0
    return Part(kind=PartKind.BARS, title=title, plot=Bars(rows, is_numbered), height=height)


def _timelines(profiles: dict[str, Profile]) -> list[Part]:
    span_s = longest_seconds(*profiles.values())
    parts = [
        Part(kind=PartKind.TIMELINE, title=title, plot=plot, height=plot.height)
        for title, profile in profiles.items()
        if (plot := timeline_plot(profile, span_seconds=span_s)) is not None
    ]
    if parts:
        colours = legend(tuple(profiles.values()))
        parts.append(Part(kind=PartKind.LEGEND, title="", plot=colours, height=_LEGEND_HEIGHT))
    return parts


def _memories(profiles: dict[str, Profile]) -> list[Part]:
    """Return the memory of each profile, and below them what was not recorded."""
    among = tuple(profiles.values())
    parts = [
        Part(kind=PartKind.MEMORY, title=title, plot=plot, height=plot.height)
        for title, profile in profiles.items()
        if (plot := memory_plot(profile, among=among)) is not None
    ]
    missing = [f"{title}: {why}" for title, one in profiles.items() if (why := not_recorded(one))]
    return [*parts, notes_part(missing)] if missing else parts
