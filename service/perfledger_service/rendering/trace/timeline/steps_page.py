"""Renders the page and the data of one workload's steps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.flame_graph.speedscope_stacks import speedscope_stacks
from perfledger_service.errors import NotFoundError
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.trace.flame_graph.flame_graph import flame_graph
from perfledger_service.rendering.trace.timeline.chrome_trace import chrome_trace
from perfledger_service.rendering.trace.timeline.steps import step_timelines
from perfledger_service.rendering.trace.timeline.timeline import StepWindow


class StepsFormat(StrEnum):
    """The format of the steps of a workload."""

    HTML = "html"
    JSON = "json"  # Chromium's Trace Event Format
    SPEEDSCOPE = "speedscope"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsAddress:
    """The addresses of a workload's steps, and of the page that explains them."""

    repository: str
    steps: str  # of their page, ending in "?" or "&"
    explained: str
    section: str  # the tab they belong to


def steps_page(
    sides: Mapping[Side, Profile],
    *,
    workload: str,
    address: StepsAddress,
    window: StepWindow | None = None,
) -> str:
    """Return the page of a workload's steps or a part of them; raise NotFoundError without any."""
    timelines = step_timelines(sides, workload=workload, window=window)
    if timelines is None:
        msg = f"the profiles of {workload[:200]!r} have no calls: their tool does not record any"
        raise NotFoundError(msg)
    is_paired = len(sides) == len(Side)
    flames = flame_graph(sides[Side.BASE], sides[Side.HEAD]) if is_paired else None
    return render("html/steps.html.j2", timelines=timelines, flames=flames, address=address)


def steps_data(sides: Mapping[Side, Profile], *, workload: str, output: StepsFormat) -> str:
    """Return the steps as JSON for a trace viewer, or for speedscope, which needs both sides."""
    if output is StepsFormat.SPEEDSCOPE:
        if len(sides) < len(Side):
            (side,) = sides
            msg = f"only {side} has a profile of {workload[:200]!r}: its speedscope file needs both"
            raise NotFoundError(msg)
        return speedscope_stacks(sides[Side.BASE], sides[Side.HEAD], name=workload)
    return json.dumps(chrome_trace({str(side): profile for side, profile in sides.items()}))
