"""Turns an explanation and the two profiles behind it into the pictures of a check's page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.cause import Explanation
from perfledger_profiles.roofline import Roofline
from perfledger_service.pages.chrome_trace import chrome_trace
from perfledger_service.pages.escape import clean
from perfledger_service.pages.kernel_rows import PairedRow, paired_rows
from perfledger_service.pages.memory_plot import MemoryPlot, memory_plot, not_recorded
from perfledger_service.pages.picture import Legend, legend
from perfledger_service.pages.roofline_plot import RooflinePlot, roofline_plot
from perfledger_service.pages.timeline import TimelinePlot, longest_seconds, timeline_plot
from perfledger_service.pages.waterfall import WaterfallPlot, waterfall_plot

# Of the workloads that changed most; each has some thousand shapes.
MAX_PICTURED = 6

_MAX_ROWS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPictures:
    """One workload's pictures; `data` is its place in the page's data for viewers of traces."""

    waterfall: WaterfallPlot | None = None
    timelines: tuple[tuple[str, TimelinePlot], ...] = ()  # by side
    memories: tuple[tuple[str, MemoryPlot], ...] = ()  # by side
    unrecorded: tuple[tuple[str, str], ...] = ()  # by side, how its memory would be recorded
    colours: Legend = ()
    roofline: RooflinePlot | None = None  # of head
    rows: tuple[PairedRow, ...] = ()
    is_of_kernels: bool = False
    data: int | None = None


def step_pictures(
    explanations: Sequence[Explanation],
    profiles: Sequence[Profile],
    *,
    roofs: Mapping[str, Roofline],
) -> tuple[StepPictures, ...]:
    """Return each explanation's pictures; none of those beyond the first MAX_PICTURED.

    `roofs` are those of the heads' devices, by workload.
    """
    found = {(profile.workload, profile.side): profile for profile in profiles}
    made: list[StepPictures] = []
    data = 0
    for place, explanation in enumerate(explanations):
        sides = _sides(explanation, found) if place < MAX_PICTURED else {}
        roof = roofs.get(explanation.workload)
        pictures = _pictures(explanation, sides, roof, data) if sides else StepPictures()
        data += pictures.data is not None
        made.append(pictures)
    return tuple(made)


def steps_data(
    explanations: Sequence[Explanation], profiles: Sequence[Profile]
) -> tuple[Mapping[str, object], ...]:
    """Return what a viewer of traces is handed for each workload whose pictures have `data`."""
    found = {(profile.workload, profile.side): profile for profile in profiles}
    return tuple(
        {
            "title": f"base and head of {clean(explanation.workload)}",
            "file_name": "perfledger-steps.json",
            "trace": chrome_trace({str(side): profile for side, profile in sides.items()}),
        }
        for explanation in explanations[:MAX_PICTURED]
        if _has_slices(sides := _sides(explanation, found))
    )


def _sides(
    explanation: Explanation, found: Mapping[tuple[str, Side], Profile]
) -> dict[Side, Profile]:
    return {
        side: found[explanation.workload, side]
        for side in Side
        if (explanation.workload, side) in found
    }


def _pictures(
    explanation: Explanation, sides: Mapping[Side, Profile], roof: Roofline | None, data: int
) -> StepPictures:
    span_s = longest_seconds(*sides.values())
    plots = {side: timeline_plot(sides[side], span_seconds=span_s) for side in sides}
    among = tuple(sides.values())
    memories = {side: memory_plot(sides[side], among=among) for side in sides}
    is_paired = len(sides) == len(Side)
    return StepPictures(
        waterfall=waterfall_plot(explanation),
        timelines=tuple((str(side), plot) for side, plot in plots.items() if plot is not None),
        memories=tuple((str(side), plot) for side, plot in memories.items() if plot is not None),
        unrecorded=tuple((str(side), why) for side in sides if (why := not_recorded(sides[side]))),
        colours=legend(among),
        roofline=None if roof is None else roofline_plot(roof),
        rows=paired_rows(sides[Side.BASE], sides[Side.HEAD], most=_MAX_ROWS) if is_paired else (),
        is_of_kernels=any(profile.kernels for profile in sides.values()),
        data=data if _has_slices(sides) else None,
    )


def _has_slices(sides: Mapping[Side, Profile]) -> bool:
    return longest_seconds(*sides.values()) > 0
