"""Draws one step of either side on a common time axis, or a part of it.

Links lead from part to part, so that zooming needs no script.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_service.rendering.chart.picture import WIDTH
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.trace.timeline.timeline import (
    PLOT_LEFT,
    PLOT_RIGHT,
    StepWindow,
    longest_seconds,
    timeline_chart,
)

US_PER_S = 1_000_000
# A bar takes about 110 bytes of a page; a part of the step shows bars that the whole merges.
WHOLE_SHAPES, PART_SHAPES = 140, 400
_MIN_US = 2  # addresses name whole microseconds


@dataclass(frozen=True, slots=True)
class PartLink:
    """A link to a part of the step, in microseconds since its start."""

    words: str
    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTimelines:
    """The steps of one workload as SVG, by side, and links to other parts of them."""

    workload: str  # untrusted
    sides: tuple[tuple[str, str], ...]
    part: str  # the part in words
    start_us: int
    end_us: int
    links: tuple[PartLink, ...]
    # The ends of the time axis in the pictures, as shares of their width.
    axis_start: float = PLOT_LEFT / WIDTH
    axis_end: float = 1 - PLOT_RIGHT / WIDTH


def step_timelines(
    sides: Mapping[Side, Profile], *, workload: str, window: StepWindow | None = None
) -> StepTimelines | None:
    """Return the steps of either side on one axis, or a part of them; None without slices.

    A part that would begin after the last call is the whole step.
    """
    span_s = longest_seconds(*sides.values())
    if span_s <= 0:
        return None
    whole_us = max(_MIN_US, -int(-span_s * US_PER_S // 1))
    part = _part(window, span_s)
    start_us, end_us = 0, whole_us
    if part is not None:
        start_us, end_us = round(part.start_seconds * US_PER_S), round(part.end_seconds * US_PER_S)
    return StepTimelines(
        workload=workload,
        sides=tuple(_pictures(sides, span_s, part)),
        part=_words(part, span_s),
        start_us=start_us,
        end_us=end_us,
        links=tuple(_links(start_us, end_us, whole_us)),
    )


def _part(window: StepWindow | None, span_s: float) -> StepWindow | None:
    """Return the part of the step within the window, None if it is the whole step."""
    if window is None or window.start_seconds >= span_s:
        return None
    if window.start_seconds <= 0 and window.end_seconds >= span_s:
        return None
    end_s = max(min(window.end_seconds, span_s), window.start_seconds + _MIN_US / US_PER_S)
    return StepWindow(start_seconds=window.start_seconds, end_seconds=end_s)


def _pictures(
    sides: Mapping[Side, Profile], span_s: float, part: StepWindow | None
) -> Iterator[tuple[str, str]]:
    most = WHOLE_SHAPES if part is None else PART_SHAPES
    for side, profile in sides.items():
        chart = timeline_chart(profile, span_seconds=span_s, window=part, most=most)
        if chart is not None:
            what = "One step" if part is None else "A part of one step"
            label = f"{what} of {side}; the table below lists the longest calls"
            yield str(side), embedded_svg(chart, label=label)


def _words(part: StepWindow | None, span_s: float) -> str:
    if part is None:
        return f"The whole step, {number_format.seconds(span_s)}"
    start, end = map(number_format.seconds, (part.start_seconds, part.end_seconds))
    return f"{start} to {end} of {number_format.seconds(span_s)}"


def _links(start_us: int, end_us: int, whole_us: int) -> Iterator[PartLink]:
    """Yield the links: zoom into the middle, zoom out, and move along the step."""
    length = end_us - start_us
    quarter = length // 4
    if length > 2 * _MIN_US:
        yield PartLink("Zoom in", start_us + quarter, end_us - quarter)
    if length >= whole_us:
        thirds = [whole_us * index // 3 for index in range(4)]
        for words, (low, high) in zip(("Begin", "Middle", "End"), pairwise(thirds), strict=True):
            if high - low >= _MIN_US:
                yield PartLink(words, low, high)
        return
    low = max(0, start_us - length // 2)
    yield PartLink("Zoom out", low, min(whole_us, low + 2 * length))
    step = max(1, length // 2)
    if start_us > 0:
        yield PartLink("Earlier", max(0, start_us - step), max(0, start_us - step) + length)
    if end_us < whole_us:
        later = min(whole_us, end_us + step)
        yield PartLink("Later", later - length, later)
    yield PartLink("Whole step", 0, whole_us)
