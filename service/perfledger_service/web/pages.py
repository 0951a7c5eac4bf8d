"""Serves the web pages, each to those who may view its project."""

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import HTMLResponse, JSONResponse

from perfledger_service.errors import UsageError
from perfledger_service.rendering.check import page as check_page
from perfledger_service.rendering.check.project_lists import (
    pull_requests_page,
    workload_page,
    workloads_page,
)
from perfledger_service.rendering.check.report_json import report_json
from perfledger_service.rendering.check.upload_comparison_page import (
    compare_page,
    compare_page_document,
)
from perfledger_service.rendering.fleet.capacity_page import capacity_page
from perfledger_service.rendering.history.page_data import (
    capacity_document,
    series_document,
    series_list_document,
    uploads_document,
    verdicts_document,
)
from perfledger_service.rendering.history.removed_page import is_removed, removed_page
from perfledger_service.rendering.history.series_page import series_page
from perfledger_service.rendering.history.series_plot import series_data
from perfledger_service.rendering.layout.document import Document
from perfledger_service.rendering.layout.writers import to_csv, to_json
from perfledger_service.store.comments.acceptances import acceptances_of, acceptances_of_project
from perfledger_service.store.comments.approvals import approvals_of
from perfledger_service.store.heads.uploads import decided_head
from perfledger_service.store.page_queries import (
    PULL_REQUESTS_PER_PAGE,
    WORKLOADS_PER_PAGE,
    index_view,
    pull_request_view,
    pull_requests_view,
    upload_view,
    with_verdicts,
    workload_view,
    workloads_view,
)
from perfledger_service.store.projects import project_named
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import bundle_content, upload_by_id
from perfledger_service.usecases.events.triage import workload_events
from perfledger_service.usecases.fleet.capacity import capacity_view, fleet_version
from perfledger_service.usecases.history.kernels import kernel_histories
from perfledger_service.usecases.history.series import series_history
from perfledger_service.usecases.uploads.comparison import compare_uploads
from perfledger_service.web.app_state import CurrentAppState
from perfledger_service.web.sign_in.readers import NAME, CurrentPageReader
from perfledger_service.web.uploads import UPLOAD_ID

router = APIRouter(default_response_class=Response, include_in_schema=False)
Number = Annotated[int, Path(ge=1, le=MAX_PULL_REQUEST)]
# For a filter by name; and the character that a database cannot store in a text.
MAX_NAME = 200
NUL = "\0"
# A number past the end means the last page.
PageNumber = Annotated[int, Query(ge=1, le=MAX_PULL_REQUEST)]
Name = Annotated[str, Path(pattern=NAME)]

# A side of a comparison: an upload's id, or the start of a commit's SHA.
CheckName = Annotated[str, Query(pattern=r"^([0-9a-f]{7,64})?$")]


class PageFormat(StrEnum):
    """Format of a page or of its data."""

    HTML = "html"
    CSV = "csv"
    JSON = "json"


Output = Annotated[PageFormat, Query(alias="format")]


def data_response(document: Document, output: PageFormat) -> Response:
    """Return a page's data as CSV or JSON."""
    if output is PageFormat.CSV:
        return Response(to_csv(document), media_type="text/csv")
    return Response(to_json(document), media_type="application/json")


def page_response(
    page: Callable[[], str], document: Callable[[], Document], output: PageFormat
) -> Response:
    """Return a page or its data, as requested."""
    if output is PageFormat.HTML:
        return HTMLResponse(page())
    return data_response(document(), output)


@router.get("/")
def index(reader: CurrentPageReader, output: Output = PageFormat.HTML) -> Response:
    """Show the newest uploads and all series."""
    reader.require_project()
    with reader.session() as session:
        view = index_view(session)
    return page_response(
        lambda: check_page.index_page(view), lambda: uploads_document(view.uploads), output
    )


@router.get("/capacity")
def capacity(
    state: CurrentAppState, reader: CurrentPageReader, output: Output = PageFormat.HTML
) -> Response:
    """Show imported files and the device utilization that checks measured.

    Imported files are about the fleet: anyone who may view any project sees them.
    """
    reader.require_project()
    with reader.session() as session:
        version = (fleet_version(session), reader.project_ids)
        return page_response(
            lambda: state.pages.page(version, lambda: capacity_page(capacity_view(session))),
            lambda: capacity_document(capacity_view(session)),
            output,
        )


@router.get("/runs/{upload_id}")
def run(
    state: CurrentAppState,
    reader: CurrentPageReader,
    upload_id: Annotated[str, Path(pattern=UPLOAD_ID)],
    page: PageNumber = 1,
    output: Output = PageFormat.HTML,
) -> Response:
    """Show one upload, with a page of its results; the JSON is the report, the CSV its verdicts."""
    with reader.session() as session:
        view = upload_view(session, upload_id)
        if output is PageFormat.CSV or (is_removed(view) and output is PageFormat.JSON):
            return data_response(verdicts_document((with_verdicts(session, view),)), output)
        if is_removed(view):
            return HTMLResponse(removed_page(with_verdicts(session, view)))
        upload = upload_by_id(session, upload_id)
        today = state.now().date()
        if output is PageFormat.JSON:
            report, _ = state.reports.report(session, upload, today=today)
            text = report_json(report, url=f"{state.public_url}/runs/{upload_id}")
            return Response(text, media_type="application/json")

        def render() -> str:
            report, bundle = state.reports.report(session, upload, today=today)
            return check_page.run_page(report, with_verdicts(session, view), bundle, page=page)

        # Approvals expire, so a page with approvals is not cached. Verdicts never change.
        decided = decided_head(session, upload)
        has_approvals = bool(approvals_of(session, decided, today=today))
        number = decided.pull_request if decided else None
        acceptances = acceptances_of(session, upload.project_id, number)
        key = (view, upload, acceptances, page)
        text = render() if has_approvals else state.pages.page(key, render)
    return HTMLResponse(text, headers={"Cross-Origin-Opener-Policy": check_page.RUN_OPENER_POLICY})


@router.get("/runs/{upload_id}/bundle.json", response_class=Response)
def bundle(
    reader: CurrentPageReader, upload_id: Annotated[str, Path(pattern=UPLOAD_ID)]
) -> Response:
    """Return an upload's bundle as an attachment, which a browser saves and never shows."""
    with reader.session() as session:
        content = bundle_content(session, upload_by_id(session, upload_id).bundle_sha256)
    headers = {
        "Content-Encoding": "gzip",
        "Content-Disposition": f'attachment; filename="{upload_id}.json"',
    }
    return Response(content, media_type="application/json", headers=headers)


@router.get("/series/{series_id}")
def series(
    reader: CurrentPageReader,
    series_id: Number,
    *,
    page: PageNumber = 1,
    other_id: Annotated[int | None, Query(alias="with", ge=1, le=MAX_PULL_REQUEST)] = None,
    output: Output = PageFormat.HTML,
) -> Response:
    """Show one series over commits, beside another series of its project if one is chosen."""
    with reader.session() as session:
        history = series_history(session, series_id)
        view = workload_view(session, history.series.repository, history.series.workload)
        second = None if other_id is None else series_history(session, other_id)
    if second is not None and second.series.repository != history.series.repository:
        msg = f"series {other_id} is of another project: choose one of {history.series.repository}"
        raise UsageError(msg)
    return page_response(
        lambda: series_page(history, page=page, siblings=view.series, second=second),
        lambda: series_document(history),
        output,
    )


@router.get("/series/{series_id}/points.json", response_class=Response)
def series_points(reader: CurrentPageReader, series_id: Number) -> Response:
    """Return the points of a series' chart."""
    with reader.session() as session:
        history = series_history(session, series_id)
    return JSONResponse(series_data(history))


@router.get("/{owner}/{name}/pull/{number}")
def pull_request(
    state: CurrentAppState,
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    number: Number,
    *,
    output: Output = PageFormat.HTML,
) -> Response:
    """Show a pull request's changes, their causes and costs, and all its checks."""
    with reader.session() as session:
        view = pull_request_view(session, f"{owner}/{name}", number, now=state.now())
        if output is not PageFormat.HTML:
            return data_response(verdicts_document(view.uploads), output)
        acceptances = acceptances_of(session, project_named(session, view.repository).id, number)
        current = [
            upload_by_id(session, one.id)
            for one in check_page.current_checks(view)
            if not is_removed(one)
        ]
        today = state.now().date()

        def render() -> str:
            reports = {
                one.id: state.reports.report(session, one, today=today)[0] for one in current
            }
            return check_page.pull_request_page(view, acceptances, reports=reports)

        # As for a check: approvals expire, verdicts never change.
        if any(approvals_of(session, decided_head(session, one), today=today) for one in current):
            return HTMLResponse(render())
        return HTMLResponse(state.pages.page((view, acceptances), render))


@router.get("/{owner}/{name}/pulls")
def pull_requests(
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    page: PageNumber = 1,
    output: Output = PageFormat.HTML,
) -> Response:
    """Show a project's pull requests."""
    with reader.session() as session:
        view = pull_requests_view(session, f"{owner}/{name}", page=page)
    return page_response(
        lambda: pull_requests_page(view, size=PULL_REQUESTS_PER_PAGE),
        lambda: uploads_document(view.uploads),
        output,
    )


@router.get("/{owner}/{name}/workloads")
def workloads(
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    *,
    page: PageNumber = 1,
    text: Annotated[str, Query(max_length=MAX_NAME)] = "",
    output: Output = PageFormat.HTML,
) -> Response:
    """Show a project's workloads whose names contain a text."""
    with reader.session() as session:
        view = workloads_view(session, f"{owner}/{name}", text=text.replace(NUL, ""), page=page)
    return page_response(
        lambda: workloads_page(view, size=WORKLOADS_PER_PAGE),
        lambda: series_list_document(view.repository, view.series),
        output,
    )


@router.get("/{owner}/{name}/workloads/{workload:path}")
def workload(
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    workload: str,
    output: Output = PageFormat.HTML,
) -> Response:
    """Show one workload on all its machines."""
    with reader.session() as session:
        view = workload_view(session, f"{owner}/{name}", workload.replace(NUL, ""))
        if output is not PageFormat.HTML:
            return data_response(series_list_document(view.repository, view.series), output)
        project = project_named(session, view.repository)
        events, commits = workload_events(session, project, view.text)
        acceptances = acceptances_of_project(session, project.id)
        kernels = kernel_histories(session, project.id, view.text)
    return HTMLResponse(
        workload_page(view, acceptances, events=events, commits=commits, kernels=kernels)
    )


@router.get("/{owner}/{name}/compare")
def compare(
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    *,
    a: CheckName = "",
    b: CheckName = "",
    output: Output = PageFormat.HTML,
) -> Response:
    """Compare the head commits of two checks, or ask for them."""
    with reader.session() as session:
        if not (a and b):
            project = project_named(session, f"{owner}/{name}")
            return HTMLResponse(compare_page(project.repository, None))
        comparison = compare_uploads(session, f"{owner}/{name}", base=a, head=b)
    if output is PageFormat.HTML:
        text = compare_page(comparison.repository, comparison)
        return HTMLResponse(
            text, headers={"Cross-Origin-Opener-Policy": check_page.RUN_OPENER_POLICY}
        )
    return data_response(compare_page_document(comparison), output)
