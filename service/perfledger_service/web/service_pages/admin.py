"""Serves the administration of projects: tokens, waiting work, GitHub and prices."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from perfledger_service.rendering.layout.document import Document
from perfledger_service.rendering.layout.paging import Page, page_of
from perfledger_service.rendering.prices.list import sheet_document
from perfledger_service.rendering.prices.page import prices_page
from perfledger_service.rendering.server.pages.admin import (
    admin_projects_document,
    admin_tokens_document,
    github_document,
    github_page,
    projects_page,
    tokens_page,
    waiting_document,
    waiting_page,
)
from perfledger_service.store.maintenance.admin_queries import project_summaries, token_summaries
from perfledger_service.store.projects import projects
from perfledger_service.usecases.inputs.price_books import current_sheet
from perfledger_service.usecases.people.administration import (
    github_view,
    retry_upload,
    revoke_project_token,
    waiting_work,
)
from perfledger_service.values.people.person import Actor
from perfledger_service.web.app_state import CurrentAddress, CurrentAppState
from perfledger_service.web.pages import MAX_NAME, PageFormat, PageNumber, data_response
from perfledger_service.web.sign_in.forms import CurrentFormAdmin
from perfledger_service.web.sign_in.readers import (
    SEE_OTHER,
    CurrentAdmin,
    PageReader,
    require_browser,
)
from perfledger_service.web.uploads import UPLOAD_ID

router = APIRouter(prefix="/admin", include_in_schema=False, default_response_class=Response)
PROJECTS_PER_PAGE = 50
MAX_PROJECTS = 10_000  # in the data
# GitHub is asked about each of them, one after another.
INSTALLATIONS_PER_PAGE = 10
Format = Annotated[PageFormat, Query(alias="format")]
TokenPrefix = Annotated[str, Path(pattern=r"^pl_[0-9a-f]{8}$")]


@router.get("")
def admin_projects(
    state: CurrentAppState,
    admin: CurrentAdmin,
    page: PageNumber = 1,
    output: Format = PageFormat.HTML,
) -> Response:
    """Show the projects that the reader administers."""
    is_page = output is PageFormat.HTML
    size = PROJECTS_PER_PAGE if is_page else MAX_PROJECTS
    with admin.session() as session:
        number = min(page, -(-len(admin.project_ids or ()) // size)) if is_page else 1
        summaries, total = project_summaries(session, page=number, size=size, now=state.now())
    listed_page = Page(items=summaries, number=number, pages=-(-total // size), total=total)
    return _answer(
        output, lambda: projects_page(listed_page), lambda: admin_projects_document(summaries)
    )


@router.get("/tokens")
def admin_tokens(
    state: CurrentAppState,
    admin: CurrentAdmin,
    page: PageNumber = 1,
    output: Format = PageFormat.HTML,
) -> Response:
    """Show the tokens of these projects."""
    with admin.session() as session:
        tokens = token_summaries(session, now=state.now())
    form_token = require_browser(admin).form_token
    return _answer(
        output,
        lambda: tokens_page(tokens, number=page, form_token=form_token),
        lambda: admin_tokens_document(tokens),
    )


@router.post("/tokens/{prefix}/revoke")
def revoke_token(
    state: CurrentAppState, admin: CurrentFormAdmin, address: CurrentAddress, prefix: TokenPrefix
) -> Response:
    """Revoke a token, and redirect to the tokens."""
    with admin.session() as session:
        revoke_project_token(
            state.engine, session, prefix, actor=_actor(admin, address), now=state.now()
        )
    return RedirectResponse("/admin/tokens", SEE_OTHER)


@router.get("/waiting")
def waiting(
    state: CurrentAppState, admin: CurrentAdmin, output: Format = PageFormat.HTML
) -> Response:
    """Show the waiting work, and the reasons."""
    with admin.session() as session:
        view = waiting_work(session, has_github=state.pull_requests is not None)
    form_token = require_browser(admin).form_token
    return _answer(
        output, lambda: waiting_page(view, form_token=form_token), lambda: waiting_document(view)
    )


@router.post("/waiting/{waiting_id}/retry")
def retry(
    state: CurrentAppState,
    admin: CurrentFormAdmin,
    address: CurrentAddress,
    waiting_id: Annotated[str, Path(pattern=UPLOAD_ID)],  # not `upload_id`: of any project
) -> Response:
    """Retry an upload, and redirect to the waiting work."""
    with admin.session() as session:
        retry_upload(
            state.engine, session, waiting_id, actor=_actor(admin, address), now=state.now()
        )
    return RedirectResponse("/admin/waiting", SEE_OTHER)


@router.get("/github")
def github(
    state: CurrentAppState,
    admin: CurrentAdmin,
    page: PageNumber = 1,
    output: Format = PageFormat.HTML,
) -> Response:
    """Show GitHub's state of the App in these projects, and of its webhooks."""
    with admin.session() as session:
        names = tuple(project.repository for project in projects(session))
        names_page = page_of(names, page, size=INSTALLATIONS_PER_PAGE)
        view = github_view(
            session,
            names_page.items,
            installations=state.installations,
            requests=state.github_requests,
            has_webhook=state.webhook_secret is not None,
        )
    return _answer(
        output, lambda: github_page(view, names_page), lambda: github_document(view, names_page)
    )


@router.get("/prices")
def prices(
    state: CurrentAppState,
    admin: CurrentAdmin,  # noqa: ARG001 - prices of contracts are for few
    *,
    text: Annotated[str, Query(max_length=MAX_NAME)] = "",
    stale: bool = False,
    page: PageNumber = 1,
    output: Format = PageFormat.HTML,
) -> Response:
    """Show the prices that the service computes with, and which are out of date."""
    today = state.now().date()
    sheet = current_sheet(today=today)
    return _answer(
        output,
        lambda: prices_page(
            sheet,
            today=today,
            text=text,
            stale_only=stale,
            number=page,
            has_notices=state.has_price_notices,
        ),
        lambda: sheet_document(sheet, today=today),
    )


def _answer(
    output: PageFormat, page: Callable[[], str], document: Callable[[], Document]
) -> Response:
    if output is PageFormat.HTML:
        return HTMLResponse(page())
    return data_response(document(), output)


def _actor(admin: PageReader, address: str) -> Actor:
    return require_browser(admin).person.actor(address)
