"""Serves the pages of a project and of an event, where its maintainers decide."""

from datetime import date
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field, field_validator

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.rendering.history.branch_page import EventOrder, branch_page, chosen_events
from perfledger_service.rendering.history.event_pages import event_page
from perfledger_service.rendering.layout.escape import path
from perfledger_service.rendering.server.acceptances import accepted_document, accepted_page
from perfledger_service.rendering.server.event import event_document, events_document
from perfledger_service.store.comments.acceptances import acceptances_of_project
from perfledger_service.store.projects import Project, project_named
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.usecases.events.event import (
    MAX_EVENT_ID,
    event_history,
    set_event,
)
from perfledger_service.usecases.events.requested_jobs import queue_event_jobs
from perfledger_service.usecases.events.triage import project_triage, triaged_event
from perfledger_service.values.branch_views import EventList, TriagePart
from perfledger_service.values.people.person import Role
from perfledger_service.web.app_state import CurrentAddress, CurrentAppState
from perfledger_service.web.pages import (
    MAX_NAME,
    NUL,
    Name,
    Output,
    PageFormat,
    PageNumber,
    data_response,
)
from perfledger_service.web.sign_in.forms import (
    CurrentForm,
    CurrentMaintainedProject,
    values_of_form,
)
from perfledger_service.web.sign_in.readers import (
    SEE_OTHER,
    CurrentPageReader,
    PageReader,
    require_browser,
)

router = APIRouter(prefix="/{owner}/{name}", include_in_schema=False)
Text = Annotated[str, Query(max_length=MAX_NAME)]
EventNumber = Annotated[int, Path(ge=1, le=MAX_EVENT_ID)]


class EventStateForm(BaseModel):
    """The form that sets an event's state; an empty field counts as not given.

    On a project's page it holds the part, order and page of the list that it is in, to return to;
    on an event's page it has no part.
    """

    model_config = ConfigDict(extra="forbid")

    state: EventState
    reason: str = ""
    owner: str = ""
    until: date | None = None
    part: TriagePart | None = None
    order: EventOrder = EventOrder.NEWEST
    page: int = Field(default=1, ge=1, le=MAX_PULL_REQUEST)

    @field_validator("until", mode="before")
    @classmethod
    def _read_empty(cls, value: object) -> object:
        return value or None

    def page_of_event(self, project: Project, event_id: int) -> str:
        """Return the address of the page that the form was on, at its event."""
        page = f"/{path(project.repository)}"
        if self.part is None:
            return f"{page}/events/{event_id}"
        query = {"part": self.part, "order": self.order, "page": self.page, "decided": event_id}
        return f"{page}?{urlencode(query)}#event-{event_id}"


class EventJobsForm(BaseModel):
    """The form that measures an event's commits again, or searches for the commit that it is."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal[RunnerJobKind.RERUN, RunnerJobKind.BISECTION]


@router.get("", response_class=Response)
def branch(
    state: CurrentAppState,
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    *,
    part: TriagePart | None = None,
    order: EventOrder = EventOrder.NEWEST,
    page: PageNumber = 1,
    decided: Annotated[int, Query(ge=0, le=MAX_EVENT_ID)] = 0,
    text: Text = "",
    output: Output = PageFormat.HTML,
) -> Response:
    """Show a project's open decisions, and how far its checks can be trusted.

    The event that was just decided stays in its place, whatever its part is now. As data, the
    events are those of the part on all pages; without `part`, of all parts.
    """
    name_part = text.replace(NUL, "").strip()
    with reader.session() as session:
        project = project_named(session, f"{owner}/{name}")
        view = project_triage(
            session, project, gates=state.gates, prices=state.prices, now=state.now()
        )
    if output is not PageFormat.HTML:
        events = chosen_events(view, part, order, text=name_part)
        stored_events = tuple(one.view for one in events if one.view is not None)
        listed_events = EventList(repository=view.repository, events=stored_events)
        return data_response(events_document(listed_events), output)
    return HTMLResponse(
        branch_page(
            view,
            url=state.public_url,
            part=part or TriagePart.TO_DECIDE,
            order=order,
            page=page,
            decided=decided,
            text=name_part,
            form_token=_form_token(reader, project),
        )
    )


@router.get("/accepted", response_class=Response)
def accepted_regressions(
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    *,
    text: Text = "",
    page: PageNumber = 1,
    output: Output = PageFormat.HTML,
) -> Response:
    """Show which regressions were accepted in a project, newest first."""
    with reader.session() as session:
        project = project_named(session, f"{owner}/{name}")
        acceptances = acceptances_of_project(session, project.id)
    name_part = text.replace(NUL, "").strip()
    if output is not PageFormat.HTML:
        document = accepted_document(project.repository, acceptances, text=name_part)
        return data_response(document, output)
    return HTMLResponse(accepted_page(project.repository, acceptances, text=name_part, page=page))


@router.get("/events/{event_id}", response_class=Response)
def event(
    reader: CurrentPageReader,
    owner: Name,
    name: Name,
    event_id: EventNumber,
    output: Output = PageFormat.HTML,
) -> Response:
    """Show an event with its history, to maintainers with the form that sets its state."""
    project = _project(reader, owner, name)
    history = event_history(reader.state.engine, project, event_id)
    if output is not PageFormat.HTML:
        return data_response(event_document(history), output)
    with reader.session() as session:
        triaged, commits = triaged_event(session, project, history.view, prices=reader.state.prices)
    return HTMLResponse(
        event_page(history, triaged, commits, form_token=_form_token(reader, project))
    )


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
    """Set the state of an event, and redirect to the page that the form was on."""
    wish = values_of_form(EventStateForm, form)
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
    return RedirectResponse(wish.page_of_event(project, event_id), SEE_OTHER)


@router.post("/events/{event_id}/jobs")
def queue_jobs(
    state: CurrentAppState,
    reader: CurrentPageReader,
    project: CurrentMaintainedProject,
    form: CurrentForm,
    *,
    address: CurrentAddress,
    event_id: EventNumber,
) -> Response:
    """Queue the jobs that measure an event again, and redirect to the page that lists them."""
    queue_event_jobs(
        state.engine,
        project,
        event_id,
        values_of_form(EventJobsForm, form).kind,
        actor=require_browser(reader).person.actor(address),
        now=state.now(),
    )
    return RedirectResponse(f"/{path(project.repository)}/machines#jobs", SEE_OTHER)


def _form_token(reader: PageReader, project: Project) -> str:
    """Return the form token for a maintainer of a project, "" for others."""
    may_decide = reader.may(Role.MAINTAINER, project.id)
    return require_browser(reader).form_token if may_decide else ""


def _project(reader: PageReader, owner: str, name: str) -> Project:
    with reader.session() as session:
        return project_named(session, f"{owner}/{name}")
