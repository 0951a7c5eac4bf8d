"""Serves `/api/v1/series`, `/runs` and `/verdicts`: a project's measurements, page by page."""

from typing import Annotated, Any, Generic, TypeVar

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints

from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.store.api_reads.runs import run_by_id, runs_page, verdicts_page
from perfledger_service.store.api_reads.series import (
    points_page,
    series_by_id,
    series_page,
)
from perfledger_service.store.api_reads.values import (
    Key,
    KeysetPage,
    PointRead,
    RunRead,
    SeriesRead,
    VerdictRead,
)
from perfledger_service.store.database import read_session
from perfledger_service.store.removals.reads import removals_of
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.values.storage.retention import Removal
from perfledger_service.values.upload_views import UploadStatus
from perfledger_service.web.api.cursors import MAX_CURSOR, KeyPart, read_cursor, write_cursor
from perfledger_service.web.api.etags import EtagRoute
from perfledger_service.web.app_state import CurrentAppState, CurrentReader
from perfledger_service.web.uploads import CALLER_PROBLEMS, UPLOAD_ID, MachineClass

Item = TypeVar("Item")
MAX_ROWS = 1000  # of a page; further rows are on the next one
USUAL_ROWS = 100  # of a page without `limit`
MAX_SERIES_ID = 2**31 - 1  # a larger one fits no column
# PostgreSQL cannot store NUL.
Name = Annotated[str, StringConstraints(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
PullRequest = Annotated[int, Field(ge=1, le=MAX_PULL_REQUEST)]
SeriesId = Annotated[int, Path(ge=1, le=MAX_SERIES_ID)]
RunId = Annotated[str, Path(pattern=UPLOAD_ID)]

NOT_MODIFIED: dict[int | str, dict[str, Any]] = {
    304: {"description": "the client already has this: `If-None-Match`"}
}

router = APIRouter(
    prefix="/api/v1",
    tags=["reads"],
    route_class=EtagRoute,
    responses={**CALLER_PROBLEMS, **NOT_MODIFIED},
)


class Listing(BaseModel, Generic[Item]):
    """Rows of a list; `next` is the path of the next page, null on the last one."""

    repository: str
    items: tuple[Item, ...]
    next: str | None


class PointListing(Listing[PointRead]):
    """Points of a series, in the series' unit."""

    series: SeriesRead


class RunResponse(BaseModel):
    """A run with its verdicts, in the report's order; none before it is judged.

    `removals` lists what retention removed of it. A run whose results were removed has no verdicts
    any more, but its conclusion and headline still hold.
    """

    repository: str
    run: RunRead
    verdicts: tuple[VerdictRead, ...]
    removals: tuple[Removal, ...]


class Paging:
    """The part of a list that a request asks for, and the link to the next."""

    def __init__(
        self,
        request: Request,
        response: Response,
        caller: CurrentReader,
        cursor: Annotated[str | None, Query(max_length=MAX_CURSOR)] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_ROWS)] = USUAL_ROWS,
    ) -> None:
        self._request, self._response, self._cursor = request, response, cursor
        self._project = caller.project
        self.limit = limit

    def after(self, *parts: KeyPart) -> Key | None:
        """Return the key after which the page begins."""
        return read_cursor(self._request, self._project.id, self._cursor, parts)

    def next_path(self, page: KeysetPage[Item]) -> str | None:
        """Return the path of the next page, and add it to the answer's Link (RFC 8288)."""
        if page.last is None:
            return None
        cursor = write_cursor(self._request, self._project.id, page.last)
        url = self._request.url.include_query_params(cursor=cursor)
        path = f"{url.path}?{url.query}"
        self._response.headers["Link"] = f'<{path}>; rel="next"'
        return path

    def listing(self, page: KeysetPage[Item]) -> Listing[Item]:
        """Return the answer with a page of a list."""
        return Listing(
            repository=self._project.repository, items=page.items, next=self.next_path(page)
        )


CurrentPaging = Annotated[Paging, Depends()]


@router.get("/series")
def get_series(
    state: CurrentAppState,
    caller: CurrentReader,
    paging: CurrentPaging,
    *,
    workload: Annotated[Name | None, Query()] = None,
    metric: Annotated[Name | None, Query()] = None,
    machine_class: Annotated[MachineClass | None, Query()] = None,
    on_branch: Annotated[bool, Query()] = False,
) -> Listing[SeriesRead]:
    """Return the project's series in the order in which they were first measured.

    With `on_branch`, only those that were measured at a commit of the default branch.
    """
    with read_session(state.engine) as session:
        page = series_page(
            session,
            caller.project.id,
            workload=workload,
            metric=metric,
            machine_class=machine_class,
            is_on_branch=on_branch,
            after=paging.after(KeyPart.NUMBER),
            most=paging.limit,
        )
    return paging.listing(page)


@router.get("/series/{series_id}/points")
def get_points(
    state: CurrentAppState,
    caller: CurrentReader,
    paging: CurrentPaging,
    *,
    series_id: SeriesId,
    on_branch: Annotated[bool, Query()] = False,
) -> PointListing:
    """Return a series' points in the order in which their commits were first seen.

    With `on_branch`, only those of the default branch's commits; sort by `branch_place` for its
    order.
    """
    with read_session(state.engine) as session:
        series = series_by_id(session, caller.project.id, series_id)
        page = points_page(
            session,
            caller.project.id,
            series_id,
            is_on_branch=on_branch,
            after=paging.after(KeyPart.NUMBER, KeyPart.RUN_ID),
            most=paging.limit,
        )
    return PointListing(
        repository=caller.project.repository,
        series=series,
        items=page.items,
        next=paging.next_path(page),
    )


@router.get("/runs")
def get_runs(
    state: CurrentAppState,
    caller: CurrentReader,
    paging: CurrentPaging,
    *,
    pull_request: Annotated[PullRequest | None, Query()] = None,
    sha: Annotated[Sha | None, Query(description="of the head")] = None,
    machine_class: Annotated[MachineClass | None, Query()] = None,
    status: Annotated[UploadStatus | None, Query()] = None,
) -> Listing[RunRead]:
    """Return the project's runs, which are its uploads, the last received first."""
    with read_session(state.engine) as session:
        page = runs_page(
            session,
            caller.project.id,
            pull_request=pull_request,
            sha=sha,
            machine_class=machine_class,
            status=status,
            after=paging.after(KeyPart.MOMENT, KeyPart.RUN_ID),
            most=paging.limit,
        )
    return paging.listing(page)


@router.get("/runs/{run_id}")
def get_run(state: CurrentAppState, caller: CurrentReader, run_id: RunId) -> RunResponse:
    """Return one of the project's runs with its verdicts."""
    with read_session(state.engine) as session:
        run, verdicts = run_by_id(session, caller.project.id, run_id)
        removals = removals_of(session, run_id)
    return RunResponse(
        repository=caller.project.repository, run=run, verdicts=verdicts, removals=removals
    )


@router.get("/verdicts")
def get_verdicts(
    state: CurrentAppState,
    caller: CurrentReader,
    paging: CurrentPaging,
    *,
    pull_request: Annotated[PullRequest | None, Query()] = None,
    sha: Annotated[Sha | None, Query(description="of the head")] = None,
    workload: Annotated[Name | None, Query()] = None,
    metric: Annotated[Name | None, Query()] = None,
    outcome: Annotated[Outcome | None, Query()] = None,
) -> Listing[VerdictRead]:
    """Return the project's verdicts, those of the last received run first."""
    with read_session(state.engine) as session:
        page = verdicts_page(
            session,
            caller.project.id,
            pull_request=pull_request,
            sha=sha,
            workload=workload,
            metric=metric,
            outcome=outcome,
            after=paging.after(KeyPart.MOMENT, KeyPart.RUN_ID, KeyPart.NUMBER),
            most=paging.limit,
        )
    return paging.listing(page)
