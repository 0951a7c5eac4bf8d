"""The pages: paths in, HTML out. They need no login in this version: see service/README.md."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import HTMLResponse

from perfledger_service.pages import html
from perfledger_service.pages.branch import branch_page
from perfledger_service.pages.capacity import capacity_page
from perfledger_service.store.approvals import approvals_of
from perfledger_service.store.database import reading
from perfledger_service.store.overview import (
    index_view,
    pull_request_view,
    series_view,
    upload_view,
)
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import bundle_content, upload_by_id
from perfledger_service.usecases.branches import branch_view
from perfledger_service.usecases.capacity import capacity_view, known_of_fleet
from perfledger_service.usecases.uploads import MAX_PULL_REQUEST, report_of
from perfledger_service.web.hub import AnyHub
from perfledger_service.web.uploads import UPLOAD_ID

router = APIRouter(default_response_class=HTMLResponse, include_in_schema=False)
Number = Annotated[int, Path(ge=1, le=MAX_PULL_REQUEST)]


@router.get("/")
def index(hub: AnyHub) -> str:
    """Show what was uploaded last, and the series."""
    with reading(hub.engine) as session:
        view = index_view(session)
    return html.index_page(view)


@router.get("/capacity")
def capacity(hub: AnyHub) -> str:
    """Show what is known of the fleet: what was imported, and how busy checks saw devices."""
    with reading(hub.engine) as session:
        shown = known_of_fleet(session)
        return hub.pages.page(shown, lambda: capacity_page(capacity_view(session)))


@router.get("/runs/{upload_id}")
def run(hub: AnyHub, upload_id: Annotated[str, Path(pattern=UPLOAD_ID)]) -> HTMLResponse:
    """Show all that is known of one upload."""
    with reading(hub.engine) as session:
        view = upload_view(session, upload_id)
        upload = upload_by_id(session, upload_id)
        today = hub.now().date()

        def lay_out() -> str:
            report, bundle = report_of(session, upload, reporter=hub.reporter, today=today)
            return html.run_page(report, view, bundle)

        # An approval counts until a day: what it says is not kept.
        is_spoken_of = bool(approvals_of(session, upload, today=today))
        page = lay_out() if is_spoken_of else hub.pages.page(view, lay_out)
    return HTMLResponse(page, headers={"Cross-Origin-Opener-Policy": html.RUN_OPENER_POLICY})


@router.get("/runs/{upload_id}/bundle.json", response_class=Response)
def bundle(hub: AnyHub, upload_id: Annotated[str, Path(pattern=UPLOAD_ID)]) -> Response:
    """Hand out an upload's bundle as it came, as a file to keep: a browser never shows it."""
    with reading(hub.engine) as session:
        content = bundle_content(session, upload_by_id(session, upload_id).bundle_sha256)
    headers = {
        "Content-Encoding": "gzip",
        "Content-Disposition": f'attachment; filename="{upload_id}.json"',
    }
    return Response(content, media_type="application/json", headers=headers)


@router.get("/series/{series_id}")
def series(hub: AnyHub, series_id: Number) -> str:
    """Show one series over commits."""
    with reading(hub.engine) as session:
        view = series_view(session, series_id)
    return html.series_page(view)


@router.get("/{owner}/{name}/pull/{number}")
def pull_request(hub: AnyHub, owner: str, name: str, number: Number) -> str:
    """Show what was uploaded for one pull request."""
    with reading(hub.engine) as session:
        view = pull_request_view(session, f"{owner}/{name}", number)
    return html.pull_request_page(view)


@router.get("/{owner}/{name}")
def branch(hub: AnyHub, owner: str, name: str) -> str:
    """Show what a project's default branch did: confirmed, suspected, and over all series."""
    with reading(hub.engine) as session:
        view = branch_view(session, project_named(session, f"{owner}/{name}"))
    return branch_page(view, url=hub.public_url)
