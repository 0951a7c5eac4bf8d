"""Serves `/api/v1/events`: a project's events, and the states that its maintainers set."""

import math
from datetime import date, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.store.api_reads.events import events_page
from perfledger_service.store.database import read_session
from perfledger_service.usecases.events.event import (
    MAX_EVENT_ID,
    MAX_WORDS,
    event_history,
    set_event,
)
from perfledger_service.values.branch_views import EventHistory, EventView
from perfledger_service.values.people.person import Actor
from perfledger_service.web.api.cursors import KeyPart
from perfledger_service.web.api.etags import EtagRoute
from perfledger_service.web.api.reads import NOT_MODIFIED, CurrentPaging, Listing
from perfledger_service.web.app_state import (
    CurrentAddress,
    CurrentAppState,
    CurrentMaintainer,
    CurrentReader,
)
from perfledger_service.web.responses.problems import Problem
from perfledger_service.web.uploads import CALLER_PROBLEMS

router = APIRouter()
_reads = APIRouter(
    prefix="/api/v1/events",
    tags=["events"],
    route_class=EtagRoute,
    responses={**CALLER_PROBLEMS, **NOT_MODIFIED},
)
_states = APIRouter(prefix="/api/v1/events", tags=["events"])
EventNumber = Annotated[int, Path(ge=1, le=MAX_EVENT_ID)]


class ChangedSeriesResponse(BaseModel):
    """A series that an event changed, by how much, and the interval; null if unknown."""

    workload: str
    metric: str
    machine_class: str
    change: float | None
    low: float | None
    high: float | None


class EventResponse(BaseModel):
    """An event with its state; it happened after one commit and up to another, if both are given.

    An event of an unmerged pull request has no commits. `is_detected` is false if the newest search
    of the history no longer finds it.
    """

    id: int
    harm: Harm
    state: EventState
    reason: str
    owner: str
    set_by: str
    until: date | None
    pull_request: int | None
    after_sha: str
    last_sha: str
    merged_sha: str
    fixed_sha: str
    is_detected: bool
    opened_at: datetime
    changed_at: datetime
    series: tuple[ChangedSeriesResponse, ...]


class EventNoteResponse(BaseModel):
    """An entry of an event's history; `author` is "" for the measurements."""

    noted_at: datetime
    author: str
    state: EventState
    note: str


class EventHistoryResponse(BaseModel):
    """An event and its history, oldest first."""

    repository: str
    event: EventResponse
    notes: tuple[EventNoteResponse, ...]


class EventStateRequest(BaseModel):
    """The new state of an event, and the reason."""

    model_config = ConfigDict(extra="forbid")

    state: EventState
    reason: Annotated[str, Field(min_length=1, max_length=MAX_WORDS)]
    owner: Annotated[str, Field(max_length=MAX_WORDS)] = ""
    until: date | None = None


_NO_EVENT: dict[int | str, dict[str, object]] = {
    404: {"model": Problem, "description": "the project has no such event"},
    410: {"model": Problem, "description": "the event was removed after its retention period"},
}


@_reads.get("")
def get_events(
    state_of_service: CurrentAppState,
    caller: CurrentReader,
    paging: CurrentPaging,
    state: Annotated[list[EventState] | None, Query(max_length=len(EventState))] = None,
) -> Listing[EventResponse]:
    """Return the project's events in any of the given states (all without one), newest first."""
    with read_session(state_of_service.engine) as session:
        page = events_page(
            session,
            caller.project.id,
            states=state or (),
            after=paging.after(KeyPart.NUMBER),
            most=paging.limit,
        )
    return Listing(
        repository=caller.project.repository,
        items=tuple(map(_event, page.items)),
        next=paging.next_path(page),
    )


@_reads.get("/{event_id}", responses=_NO_EVENT)
def get_event(
    state: CurrentAppState, caller: CurrentReader, event_id: EventNumber
) -> EventHistoryResponse:
    """Return one of the project's events with its history."""
    return _history(event_history(state.engine, caller.project, event_id))


@_states.put(
    "/{event_id}/state",
    responses={
        400: {"model": Problem, "description": "a state that cannot be set, or not in this way"},
        **CALLER_PROBLEMS,
        **_NO_EVENT,
    },
)
def put_event_state(
    state: CurrentAppState,
    caller: CurrentMaintainer,
    address: CurrentAddress,
    event_id: EventNumber,
    request: EventStateRequest,
) -> EventHistoryResponse:
    """Set the state of one of the project's events; the token's name is recorded with it."""
    history = set_event(
        state.engine,
        caller.project,
        event_id,
        request.state,
        actor=Actor(name=caller.name, account=caller.account, address=address),
        reason=request.reason,
        owner=request.owner,
        until=request.until,
        now=state.now(),
    )
    return _history(history)


router.include_router(_reads)
router.include_router(_states)


def _history(history: EventHistory) -> EventHistoryResponse:
    return EventHistoryResponse(
        repository=history.repository,
        event=_event(history.view),
        notes=tuple(
            EventNoteResponse(
                noted_at=note.noted_at, author=note.author, state=note.state, note=note.note
            )
            for note in history.notes
        ),
    )


def _event(view: EventView) -> EventResponse:
    event = view.event
    place = event.occurrences[-1] if event.occurrences else None
    return EventResponse(
        id=event.id,
        harm=event.harm,
        state=event.state,
        reason=event.reason,
        owner=event.owner,
        set_by=event.set_by,
        until=event.until,
        pull_request=event.pull_request,
        after_sha=place.after_sha if place else "",
        last_sha=place.last_sha if place else "",
        merged_sha=event.merged_sha,
        fixed_sha=event.fixed_sha,
        is_detected=event.is_detected,
        opened_at=view.opened_at,
        changed_at=view.changed_at,
        series=tuple(
            ChangedSeriesResponse(
                workload=one.workload,
                metric=one.metric,
                machine_class=one.machine_class,
                change=_finite(one.change),
                low=_finite(one.low),
                high=_finite(one.high),
            )
            for one in event.series
        ),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
