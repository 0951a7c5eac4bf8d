"""Collects the pictures that explain a step time on the page of a check."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.rendering.chart.picture import Picture
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.trace.chrome_trace import chrome_trace
from perfledger_service.rendering.trace.flame_graph.flame_graph import FlameGraph, flame_graph
from perfledger_service.rendering.trace.kernel_rows import PairedKernelRow, paired_kernel_rows
from perfledger_service.rendering.trace.memory_plot import memory_charts, missing_memory_note
from perfledger_service.rendering.trace.roofline_plot import roofline_chart
from perfledger_service.rendering.trace.timeline import longest_seconds, timeline_chart
from perfledger_service.rendering.trace.waterfall import waterfall_chart, waterfall_summary

# The workloads that changed most; each picture has some thousand shapes.
MAX_PICTURED = 6

_MAX_ROWS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPictures:
    """The pictures of one workload as SVG; `data` is its place in the page's viewer data."""

    waterfall: str = ""
    timelines: tuple[tuple[str, str], ...] = ()  # by side
    memories: tuple[tuple[str, str], ...] = ()  # by side
    unrecorded: tuple[tuple[str, str], ...] = ()  # by side, how to record its memory
    roofline: str = ""  # of head
    flames: FlameGraph | None = None  # where both sides were profiled
    rows: tuple[PairedKernelRow, ...] = ()
    is_of_kernels: bool = False
    data: int | None = None


def step_pictures(
    explanations: Sequence[StepTimeExplanation],
    profiles: Sequence[Profile],
    *,
    roofs: Mapping[str, Roofline],
) -> tuple[StepPictures, ...]:
    """Return the pictures of the first MAX_PICTURED explanations.

    `roofs` are those of the heads' devices, by workload.
    """
    by_side = {(profile.workload, profile.side): profile for profile in profiles}
    collected: list[StepPictures] = []
    data = 0
    for place, explanation in enumerate(explanations):
        sides = _sides(explanation, by_side) if place < MAX_PICTURED else {}
        roof = roofs.get(explanation.workload)
        pictures = _pictures(explanation, sides, roof, data) if sides else StepPictures()
        data += pictures.data is not None
        collected.append(pictures)
    return tuple(collected)


def steps_data(
    explanations: Sequence[StepTimeExplanation], profiles: Sequence[Profile]
) -> tuple[Mapping[str, object], ...]:
    """Return the trace for each workload whose pictures have `data`."""
    by_side = {(profile.workload, profile.side): profile for profile in profiles}
    return tuple(
        {
            "title": f"base and head of {clean(explanation.workload)}",
            "file_name": "perfledger-steps.json",
            "trace": chrome_trace({str(side): profile for side, profile in sides.items()}),
        }
        for explanation in explanations[:MAX_PICTURED]
        if _has_slices(sides := _sides(explanation, by_side))
    )


def _sides(
    explanation: StepTimeExplanation, by_side: Mapping[tuple[str, Side], Profile]
) -> dict[Side, Profile]:
    return {
        side: by_side[explanation.workload, side]
        for side in Side
        if (explanation.workload, side) in by_side
    }


def _pictures(
    explanation: StepTimeExplanation,
    sides: Mapping[Side, Profile],
    roof: Roofline | None,
    data: int,
) -> StepPictures:
    is_paired = len(sides) == len(Side)
    return StepPictures(
        waterfall=_waterfall(explanation),
        timelines=tuple(_timelines(sides)),
        memories=tuple(_memories(sides)),
        unrecorded=tuple(
            (str(side), note) for side in sides if (note := missing_memory_note(sides[side]))
        ),
        roofline="" if roof is None else _roofline(roof),
        flames=flame_graph(sides[Side.BASE], sides[Side.HEAD]) if is_paired else None,
        rows=paired_kernel_rows(sides[Side.BASE], sides[Side.HEAD], most=_MAX_ROWS)
        if is_paired
        else (),
        is_of_kernels=any(profile.kernels for profile in sides.values()),
        data=data if _has_slices(sides) else None,
    )


def _waterfall(explanation: StepTimeExplanation) -> str:
    chart = waterfall_chart(explanation)
    label = f"{waterfall_summary(explanation)}, bucket by bucket"
    return "" if chart is None else embedded_svg(chart, label=label)


def _timelines(sides: Mapping[Side, Profile]) -> Iterator[tuple[str, str]]:
    span_s = longest_seconds(*sides.values())
    for side, profile in sides.items():
        chart = timeline_chart(profile, span_seconds=span_s)
        if chart is not None:
            label = f"One step of {side}; the table below lists the longest calls"
            yield str(side), embedded_svg(chart, label=label)


def _memories(sides: Mapping[Side, Profile]) -> Iterator[tuple[str, str]]:
    for side, profile in sides.items():
        charts = memory_charts(profile, among=tuple(sides.values()))
        if charts:
            label = f"Memory in use on {side}: {'; '.join(chart.caption for chart in charts)}"
            yield str(side), embedded_svg(Picture(title="", charts=charts), label=label)


def _roofline(roof: Roofline) -> str:
    chart = roofline_chart(roof)
    return "" if chart is None else embedded_svg(chart, label=f"Roofline: {chart.caption}")


def _has_slices(sides: Mapping[Side, Profile]) -> bool:
    return longest_seconds(*sides.values()) > 0
