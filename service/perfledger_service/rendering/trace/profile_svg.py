"""Draws a trace, or two compared traces, as one standalone picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from perfledger.profile import Profile
from perfledger_service.rendering.chart.bar_rows import BarRow, bar_rows_chart
from perfledger_service.rendering.chart.picture import Chart, Picture
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.trace.bottlenecks import (
    bottleneck_change_sentence,
    bottleneck_phrase,
)
from perfledger_service.rendering.trace.diff import devices_sentence
from perfledger_service.rendering.trace.kernel_rows import bucket_rows, kernel_rows, operation_rows
from perfledger_service.rendering.trace.memory_plot import memory_charts, missing_memory_note
from perfledger_service.rendering.trace.roofline_plot import roofline_chart
from perfledger_service.rendering.trace.summary import MAX_READINGS, reading_value, shown_readings
from perfledger_service.rendering.trace.timeline.timeline import longest_seconds, timeline_chart
from perfledger_service.rendering.trace.waterfall import waterfall_chart, waterfall_summary
from perfledger_service.values.trace_views import TraceDiffView, TraceView

MAX_ROWS = 15


def trace_svg(view: TraceView) -> str:
    """Return the breakdown, timeline, roofline and longest kernels of a trace."""
    return picture_svg(trace_picture(view))


def trace_diff_svg(view: TraceDiffView) -> str:
    """Return the waterfall between two traces, and a step of each on a common time axis."""
    return picture_svg(trace_diff_picture(view))


def trace_picture(view: TraceView) -> Picture:
    """Return the charts of a trace, or the readings of a file without times."""
    profile = view.profile
    subject = "The step nearest to the median" if profile.has_steps else "The whole recording"
    memory = {"Memory in use": profile}
    kernels = kernel_rows(profile, most=MAX_ROWS)
    names = [row.name for row in kernels]
    roof = None if view.roof is None else roofline_chart(view.roof, names=names)
    charts = [
        *_bars("Where the step goes", bucket_rows(profile)),
        *_timelines({subject: profile}),
        *_memories(memory),
        *(
            ()
            if roof is None
            else (replace(roof, title=f"Roofline of {roof.caption}", caption=""),)
        ),
        *_bars("Longest kernels", kernels, is_numbered=roof is not None),
        *_bars("Operations with the most time", operation_rows(profile, most=MAX_ROWS)),
    ]
    notes = _missing_memories(memory) if charts else _reading_lines(profile)
    step = (
        f"{number_format.seconds(profile.step_seconds)} a step" if profile.has_steps else "no steps"
    )
    return Picture(
        title=view.name,
        summary=f"{step}; {bottleneck_phrase(view.classification)}",
        charts=tuple(charts),
        notes=tuple(notes),
    )


def trace_diff_picture(view: TraceDiffView) -> Picture:
    """Return the charts of two traces."""
    base, head = view.base.profile, view.head.profile
    memories = {"Base, memory in use": base, "Head, memory in use": head}
    waterfall = waterfall_chart(view.explanation)
    charts: list[Chart] = []
    if waterfall is not None:
        title = f"From base to head: {waterfall_summary(view.explanation)}"
        charts.append(replace(waterfall, title=title))
    charts += _timelines({"Base, a typical step": base, "Head, a typical step": head})
    charts += _memories(memories)
    for name, profile in (("base", base), ("head", head)):
        rows = kernel_rows(profile, most=MAX_ROWS) or operation_rows(profile, most=MAX_ROWS)
        charts += _bars(f"What runs longest on {name}", rows)
    summary = bottleneck_change_sentence(view.base.classification, view.head.classification)
    return Picture(
        title=f"{view.base.name} \N{RIGHTWARDS ARROW} {view.head.name}",
        summary=f"{devices_sentence(view)} {summary}".lstrip(),
        charts=tuple(charts),
        notes=tuple(_missing_memories(memories)),
    )


def _reading_lines(profile: Profile) -> Iterator[str]:
    """Yield the readings of a file without times, one line each."""
    for reading in shown_readings(profile.readings)[:MAX_READINGS]:
        subject = f" of {reading.subject}" if reading.subject else ""
        yield f"{reading.name}{subject}: {' '.join(reading_value(reading)).strip()}"


def _bars(title: str, rows: Sequence[BarRow], *, is_numbered: bool = False) -> Iterator[Chart]:
    if rows:
        yield bar_rows_chart(title, rows, is_numbered=is_numbered)


def _timelines(profiles: Mapping[str, Profile]) -> Iterator[Chart]:
    span_s = longest_seconds(*profiles.values())
    for title, profile in profiles.items():
        chart = timeline_chart(profile, span_seconds=span_s)
        if chart is not None:
            yield replace(chart, title=title)


def _memories(profiles: Mapping[str, Profile]) -> Iterator[Chart]:
    among = tuple(profiles.values())
    for title, profile in profiles.items():
        for index, chart in enumerate(memory_charts(profile, among=among)):
            yield chart if index else replace(chart, title=title)


def _missing_memories(profiles: Mapping[str, Profile]) -> Iterator[str]:
    for title, profile in profiles.items():
        if note := missing_memory_note(profile):
            yield f"{title}: {note}"
