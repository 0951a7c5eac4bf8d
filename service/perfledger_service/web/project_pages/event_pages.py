"""Serves what there is to decide of a project, and an event, whose state its maintainers set."""

from datetime import date, timedelta
from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.escape import path
from perfledger_service.rendering.server.event_pages import event_page, triage_page
from perfledger_service.store.projects import Project, project_named
from perfledger_service.usecases.events.event import (
    MAX_EVENT_ID,
    event_history,
    set_event,
    triage,
)
from perfledger_service.values.people.person import Role
from perfledger_service.web.app_state import CurrentAddress, CurrentAppState
from perfledger_service.web.pages import Name
from perfledger_service.web.sign_in.forms import CurrentForm, CurrentMaintainedProject
from perfledger_service.web.sign_in.readers import (
    SEE_OTHER,
    CurrentPageReader,
    PageReader,
    require_browser,
)

router = APIRouter(prefix="/{owner}/{name}", include_in_schema=False)
EventNumber = Annotated[int, Path(ge=1, le=MAX_EVENT_ID)]
TRIAGE_PERIOD = timedelta(days=7)


class EventStateForm(BaseModel):
    """The form that sets an event's state; a field that is left empty is not given."""

    model_config = ConfigDict(extra="forbid")

    state: EventState
    reason: str = ""
    owner: str = ""
    until: date | None = None

    @field_validator("until", mode="before")
    @classmethod
    def _read_empty(cls, value: object) -> object:
        return value or None


@router.get("/triage", response_class=HTMLResponse)
def triage_of_week(
    state: CurrentAppState, reader: CurrentPageReader, owner: Name, name: Name
) -> str:
    """Show what there is to decide of a project, and what happened in the last week."""
    repository = _project(reader, owner, name).repository
    return triage_page(triage(state.engine, repository, period=TRIAGE_PERIOD, now=state.now()))


@router.get("/events/{event_id}", response_class=HTMLResponse)
def event(reader: CurrentPageReader, owner: Name, name: Name, event_id: EventNumber) -> str:
    """Show an event with its history, to maintainers with the form that sets its state."""
    project = _project(reader, owner, name)
    history = event_history(reader.state.engine, project, event_id)
    may_set = reader.may(Role.MAINTAINER, project.id)
    return event_page(history, form_token=require_browser(reader).form_token if may_set else "")


@router.post("/events/{event_id}/state")
def set_event_state(
    state: CurrentAppState,
    reader: CurrentPageReader,
    project: CurrentMaintainedProject,
    form: CurrentForm,
    *,
    address: CurrentAddress,
    event_id: EventNumber,
) -> Response:
    """Set the state of an event, and lead back to its page."""
    try:
        wish = EventStateForm.model_validate(dict(form))
    except ValidationError as error:
        fields = ", ".join(str(problem["loc"][0]) for problem in error.errors())
        msg = f"the form cannot be read: check {fields}"
        raise UsageError(msg) from None
    set_event(
        state.engine,
        project,
        event_id,
        wish.state,
        actor=require_browser(reader).person.actor(address),
        reason=wish.reason,
        owner=wish.owner,
        until=wish.until,
        now=state.now(),
    )
    return RedirectResponse(f"/{path(project.repository)}/events/{event_id}", SEE_OTHER)


def _project(reader: PageReader, owner: str, name: str) -> Project:
    with reader.session() as session:
        return project_named(session, f"{owner}/{name}")
