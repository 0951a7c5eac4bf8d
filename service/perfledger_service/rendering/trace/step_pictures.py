"""Collects the pictures that explain a step time on a check's page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.rendering.chart.picture import Picture
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.trace.flame_graph.flame_graph import FlameGraph, flame_graph
from perfledger_service.rendering.trace.kernel_rows import PairedKernelRow, paired_kernel_rows
from perfledger_service.rendering.trace.memory_plot import memory_charts, missing_memory_note
from perfledger_service.rendering.trace.roofline_plot import roofline_chart
from perfledger_service.rendering.trace.timeline.steps import StepTimelines, step_timelines
from perfledger_service.rendering.trace.timeline.timeline import longest_seconds
from perfledger_service.rendering.trace.waterfall import waterfall_chart, waterfall_summary

# The workloads that changed most have pictures; the rest have text only.
MAX_PICTURED = 6
# Of these, the number whose timelines and flame graph are on the page: about 50 kB each.
MAX_DRAWN = 1

_MAX_ROWS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPictures:
    """The pictures of one workload as SVG."""

    waterfall: str = ""
    timelines: StepTimelines | None = None
    has_steps: bool = False  # on their own page, if not drawn here
    memories: tuple[tuple[str, str], ...] = ()  # by side
    unrecorded: tuple[tuple[str, str], ...] = ()  # by side, how to record its memory
    rooflines: tuple[tuple[str, str], ...] = ()  # by side
    flames: FlameGraph | None = None  # if both sides were profiled
    rows: tuple[PairedKernelRow, ...] = ()
    is_of_kernels: bool = False


def step_pictures(
    explanations: Sequence[StepTimeExplanation],
    profiles: Sequence[Profile],
    *,
    roofs: Mapping[tuple[str, Side], Roofline],
) -> tuple[StepPictures, ...]:
    """Return the pictures of the first MAX_PICTURED explanations.

    `roofs` are the rooflines, by workload and side.
    """
    by_side = {(profile.workload, profile.side): profile for profile in profiles}
    collected: list[StepPictures] = []
    for index, explanation in enumerate(explanations):
        sides = sides_of(explanation.workload, by_side)
        mine = {side: roofs[key] for side in Side if (key := (explanation.workload, side)) in roofs}
        if sides and index < MAX_PICTURED:
            is_drawn = sum(one.has_steps for one in collected) < MAX_DRAWN
            collected.append(_pictures(explanation, sides, mine, is_drawn=is_drawn))
        else:
            collected.append(StepPictures())
    return tuple(collected)


def sides_of(workload: str, by_side: Mapping[tuple[str, Side], Profile]) -> Mapping[Side, Profile]:
    """Return the profiles of a workload, base before head."""
    return {side: by_side[workload, side] for side in Side if (workload, side) in by_side}


def _pictures(
    explanation: StepTimeExplanation,
    sides: Mapping[Side, Profile],
    roofs: Mapping[Side, Roofline],
    *,
    is_drawn: bool,
) -> StepPictures:
    is_paired = len(sides) == len(Side)
    timelines = step_timelines(sides, workload=explanation.workload) if is_drawn else None
    return StepPictures(
        waterfall=_waterfall(explanation),
        timelines=timelines,
        has_steps=longest_seconds(*sides.values()) > 0,
        memories=tuple(_memories(sides)),
        unrecorded=tuple(
            (str(side), note) for side in sides if (note := missing_memory_note(sides[side]))
        ),
        rooflines=tuple(_rooflines(roofs)),
        flames=flame_graph(sides[Side.BASE], sides[Side.HEAD]) if is_paired and is_drawn else None,
        rows=paired_kernel_rows(sides[Side.BASE], sides[Side.HEAD], most=_MAX_ROWS)
        if is_paired
        else (),
        is_of_kernels=any(profile.kernels for profile in sides.values()),
    )


def _waterfall(explanation: StepTimeExplanation) -> str:
    chart = waterfall_chart(explanation)
    label = f"{waterfall_summary(explanation)}, bucket by bucket"
    return "" if chart is None else embedded_svg(chart, label=label)


def _memories(sides: Mapping[Side, Profile]) -> Iterator[tuple[str, str]]:
    for side, profile in sides.items():
        charts = memory_charts(profile, among=tuple(sides.values()))
        if charts:
            label = f"Memory in use on {side}: {'; '.join(chart.caption for chart in charts)}"
            yield str(side), embedded_svg(Picture(title="", charts=charts), label=label)


def _rooflines(roofs: Mapping[Side, Roofline]) -> Iterator[tuple[str, str]]:
    for side, roof in roofs.items():
        chart = roofline_chart(roof)
        if chart is not None:
            yield str(side), embedded_svg(chart, label=f"Roofline of {side}: {chart.caption}")
