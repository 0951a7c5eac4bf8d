"""Serves the costs of a project: its purchase options' costs, and the prices of its changes."""

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from perfledger_service.errors import UsageError
from perfledger_service.rendering.cost.compare import costs_document
from perfledger_service.rendering.cost.page import costs_page, what_if_part
from perfledger_service.rendering.cost.price_history import price_history_document
from perfledger_service.rendering.layout.document import Document
from perfledger_service.settings.service import price_settings
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.cost.what_if import what_if
from perfledger_service.usecases.inputs.price_books import read_price_books
from perfledger_service.values.cost_views import CostForm, WhatIfView
from perfledger_service.values.people.person import Role
from perfledger_service.web.app_state import CurrentAppState
from perfledger_service.web.pages import Name, PageFormat, data_response
from perfledger_service.web.sign_in.readers import SEE_OTHER, CurrentPageReader

router = APIRouter(prefix="/{owner}/{name}/costs", include_in_schema=False)
MAX_TEXT = 80  # characters of a field
MAX_OPTION_NAMES = 12  # in one comparison
OK, UNPROCESSABLE = 200, 422
Text = Annotated[str, Query(max_length=MAX_TEXT)]


def cost_form(
    *,
    allocated_percent: Text = "",
    years: Text = "",
    job_hours: Text = "",
    interruptions_per_hour: Text = "",
    checkpoint_seconds: Text = "",
    at: Annotated[list[Text] | None, Query(max_length=MAX_OPTION_NAMES)] = None,
    shows_all: Annotated[bool, Query(alias="all")] = False,
) -> CostForm:
    """Return the form that an address's parameters fill in."""
    return CostForm(
        allocated_percent=allocated_percent.strip(),
        years=years.strip(),
        job_hours=job_hours.strip(),
        interruptions_per_hour=interruptions_per_hour.strip(),
        checkpoint_seconds=checkpoint_seconds.strip(),
        at=tuple(dict.fromkeys(name.strip() for name in at or () if name.strip())),
        shows_all=shows_all,
    )


@router.get("", response_class=Response)
def costs(
    state: CurrentAppState,
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    form: Annotated[CostForm, Depends(cost_form)],
    *,
    output: Annotated[PageFormat, Query(alias="format")] = PageFormat.HTML,
    hx_request: Annotated[bool, Header()] = False,
    hx_history_restore_request: Annotated[bool, Header()] = False,
) -> Response:
    """Show the costs of purchase options, and the prices of a project's changes.

    Requests by the form itself get only the part of the page that it recomputes.
    """
    with reader.session() as session:
        project = project_named(session, f"{owner}/{name}")
    today, repository, settings = state.now().date(), project.repository, price_settings()
    readable = settings
    if not (settings.show_own_prices or reader.may(Role.MAINTAINER, project.id)):
        readable = settings.model_copy(update={"overrides": "", "contract": ""})
    view = what_if(read_price_books(readable, today=today), form, today=today)
    view = replace(view, is_without_own_prices=settings != readable)
    if output is not PageFormat.HTML:
        return data_response(_document(view), output)
    if hx_request and not hx_history_restore_request:
        page = what_if_part(repository, view)
    else:
        with reader.session() as session:
            page = costs_page(repository, view, state.prices.history(session, repository))
    status = UNPROCESSABLE if view.problems else OK
    return HTMLResponse(page, status, headers={"Vary": "HX-Request"})


@router.get("/changes", response_class=Response)
def changes(
    state: CurrentAppState,
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    output: Annotated[PageFormat, Query(alias="format")] = PageFormat.JSON,
) -> Response:
    """Return the prices of a project's changes as data; as a page they are part of the costs."""
    if output is PageFormat.HTML:
        return RedirectResponse(f"/{owner}/{name}/costs#changes", SEE_OTHER)
    with reader.session() as session:
        history = state.prices.history(session, f"{owner}/{name}")
    return data_response(price_history_document(history), output)


def _document(view: WhatIfView) -> Document:
    """Return the comparison's data; raise UsageError for an invalid field."""
    if view.comparison is None:
        msg = "; ".join(f"{field}: {words}" for field, words in view.problems.items())
        raise UsageError(msg)
    return costs_document(view.comparison)
