"""Serves the profiled steps of a workload: their page, parts of them, and their data."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import HTMLResponse

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger.time_units import SECONDS_PER_DAY
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.rendering.check.page import RUN_OPENER_POLICY
from perfledger_service.rendering.layout.escape import path
from perfledger_service.rendering.trace.step_pictures import sides_of
from perfledger_service.rendering.trace.timeline.steps import US_PER_S
from perfledger_service.rendering.trace.timeline.steps_page import (
    StepsAddress,
    StepsFormat,
    steps_data,
    steps_page,
)
from perfledger_service.rendering.trace.timeline.timeline import StepWindow
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.uploads.comparison import compared_profiles
from perfledger_service.web.app_state import CurrentAppState
from perfledger_service.web.pages import CheckName, Name
from perfledger_service.web.sign_in.readers import CurrentPageReader
from perfledger_service.web.uploads import UPLOAD_ID

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
MAX_WORKLOAD = 2000  # characters of a workload's id in an address
MAX_US = SECONDS_PER_DAY * US_PER_S  # a day
Workload = Annotated[str, Query(min_length=1, max_length=MAX_WORKLOAD)]
Microseconds = Annotated[int, Query(ge=0, le=MAX_US)]
Output = Annotated[StepsFormat, Query(alias="format")]


@router.get("/runs/{upload_id}/steps", response_class=Response)
def steps_of_check(
    state: CurrentAppState,
    reader: CurrentPageReader,
    upload_id: Annotated[str, Path(pattern=UPLOAD_ID)],
    workload: Workload,
    *,
    start_us: Microseconds = 0,
    end_us: Microseconds = MAX_US,
    output: Output = StepsFormat.HTML,
) -> Response:
    """Show a step of one side of a check, or a part of both."""
    with reader.session() as session:
        upload = upload_by_id(session, upload_id)
        bundle = state.reports.bundle(session, upload)
    profiles = {(one.workload, one.side): one for one in bundle.profiles}
    sides = sides_of(workload, profiles)
    if not sides:
        msg = f"the check has no profile of {workload[:200]!r}: it profiles workloads that changed"
        raise NotFoundError(msg)
    page = f"/runs/{upload_id}"
    address = StepsAddress(
        repository=upload.repository,
        steps=f"{page}/steps?",
        explained=page,
        section="checks" if upload.pull_request is None else "pulls",
    )
    return _answer(sides, workload, address, window=_window(start_us, end_us), output=output)


@router.get("/{owner}/{name}/compare/steps", response_class=Response)
def compared_steps(
    state: CurrentAppState,
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    *,
    a: CheckName,
    b: CheckName,
    workload: Workload,
    start_us: Microseconds = 0,
    end_us: Microseconds = MAX_US,
    output: Output = StepsFormat.HTML,
) -> Response:
    """Show a step of the heads of two checks, or a part of both."""
    with reader.session() as session:
        repository = project_named(session, f"{owner}/{name}").repository
        sides = compared_profiles(
            session, repository, workload, base=a, head=b, reports=state.reports
        )
    page = f"/{path(repository)}/compare"
    address = StepsAddress(
        repository=repository,
        steps=f"{page}/steps?a={a}&b={b}&",
        explained=f"{page}?a={a}&b={b}",
        section="compare",
    )
    return _answer(sides, workload, address, window=_window(start_us, end_us), output=output)


def _window(start_us: int, end_us: int) -> StepWindow:
    if start_us >= end_us:
        msg = (
            f"a part of a step that begins at {start_us} us cannot end at {end_us} us: give a "
            "later end"
        )
        raise UsageError(msg)
    return StepWindow(start_seconds=start_us / US_PER_S, end_seconds=end_us / US_PER_S)


def _answer(
    sides: Mapping[Side, Profile],
    workload: str,
    address: StepsAddress,
    *,
    window: StepWindow,
    output: StepsFormat,
) -> Response:
    if output is StepsFormat.HTML:
        text = steps_page(sides, workload=workload, address=address, window=window)
        headers = {"Cross-Origin-Opener-Policy": RUN_OPENER_POLICY}
        return HTMLResponse(text, headers=headers)
    text = steps_data(sides, workload=workload, output=output)
    return Response(text, media_type="application/json")
