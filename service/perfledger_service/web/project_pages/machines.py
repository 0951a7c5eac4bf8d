"""Serves the page of a project's machines, where maintainers quarantine and release devices."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict

from perfledger_service.rendering.layout.escape import path
from perfledger_service.rendering.server.pages.machines import machines_document, machines_page
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.fleet.device import quarantine_device, release_device
from perfledger_service.usecases.server.machines import machines_view
from perfledger_service.values.people.person import Role
from perfledger_service.web.app_state import CurrentAddress, CurrentAppState
from perfledger_service.web.pages import Name, PageFormat, data_response
from perfledger_service.web.sign_in.forms import (
    CurrentForm,
    CurrentMaintainedProject,
    values_of_form,
)
from perfledger_service.web.sign_in.readers import (
    SEE_OTHER,
    CurrentPageReader,
    require_browser,
)

router = APIRouter(prefix="/{owner}/{name}/machines", include_in_schema=False)


class QuarantineDecision(StrEnum):
    """A maintainer's decision on a device."""

    QUARANTINE = "quarantine"
    RELEASE = "release"


class QuarantineForm(BaseModel):
    """The form that begins or ends a device's quarantine."""

    model_config = ConfigDict(extra="forbid")

    device: str
    reason: str


@router.get("")
def machines(
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    output: Annotated[PageFormat, Query(alias="format")] = PageFormat.HTML,
) -> Response:
    """Show a project's machines, its devices, its runners and the newest jobs of the queue."""
    with reader.session() as session:
        view = machines_view(session, f"{owner}/{name}")
        project_id = project_named(session, view.repository).id
    if output is not PageFormat.HTML:
        return data_response(machines_document(view), output)
    may_set = reader.may(Role.MAINTAINER, project_id)
    form_token = require_browser(reader).form_token if may_set else ""
    return HTMLResponse(machines_page(view, form_token=form_token))


@router.post("/{decision}")
def decide(
    state: CurrentAppState,
    reader: CurrentPageReader,
    project: CurrentMaintainedProject,
    form: CurrentForm,
    *,
    address: CurrentAddress,
    decision: QuarantineDecision,
) -> Response:
    """Put a device in quarantine or release it, and redirect to the page."""
    wish = values_of_form(QuarantineForm, form)
    carry_out = quarantine_device if decision is QuarantineDecision.QUARANTINE else release_device
    carry_out(
        state.engine,
        project,
        wish.device,
        actor=require_browser(reader).person.actor(address),
        reason=wish.reason,
        now=state.now(),
    )
    return RedirectResponse(f"/{path(project.repository)}/machines", SEE_OTHER)
