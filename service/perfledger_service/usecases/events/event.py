"""Lists the events of a project, sets their states, and reports the open decisions."""

from collections.abc import Collection, Iterable
from datetime import date, datetime, timedelta
from math import isfinite

from sqlalchemy import Engine

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import EventUpdate, TrackedEvent
from perfledger_service.errors import UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import (
    event_by_id,
    events_of,
    notes_of_event,
    notes_since,
    save_event,
)
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import Project, lock_project
from perfledger_service.usecases.server.project import project_of_name
from perfledger_service.values.acceptance import MAX_DAYS
from perfledger_service.values.branch_views import (
    EventHistory,
    EventList,
    EventView,
    TriageReport,
)
from perfledger_service.values.people.person import Actor, AuditAction

MAX_EVENTS = 100  # of a list, unless another number is given
MAX_EVENT_ID = 2**31 - 1  # a larger one fits no column
MAX_WORDS = 300  # characters of a reason, an owner or a note
# The report lists expectations that end within this many days, so that they are reviewed in time.
EXPIRING_DAYS = 14
MAX_TRIAGED = 500


def list_events(
    engine: Engine,
    project: Project,
    *,
    states: Collection[EventState] = (),
    before: int | None = None,
    most: int = MAX_EVENTS,
) -> EventList:
    """Return events of a project in any of some states, newest first; `before` is an event's id."""
    with read_session(engine) as session:
        views = events_of(session, project.id, states=states, before=before, most=most + 1)
    return EventList(repository=project.repository, events=views[:most], has_more=len(views) > most)


def event_history(engine: Engine, project: Project, event_id: int) -> EventHistory:
    """Return an event of a project with its history; raise NotFoundError for none."""
    with read_session(engine) as session:
        return EventHistory(
            repository=project.repository,
            view=event_by_id(session, project.id, event_id),
            notes=notes_of_event(session, event_id),
        )


def set_event(
    engine: Engine,
    project: Project,
    event_id: int,
    state: EventState,
    *,
    actor: Actor,
    reason: str,
    owner: str = "",
    until: date | None = None,
    now: datetime,
) -> EventHistory:
    """Set an event to a state and return it; `actor` is who sets it.

    Raises NotFoundError for no such event, and UsageError for a state that cannot be set or that
    lacks its reason, owner or last day.
    """
    reason, owner = _words(reason), _words(owner)
    _check_state(state, reason=reason, owner=owner, until=until, today=now.date())
    with write_session(engine) as session:
        lock_project(session, project.id)
        event = event_by_id(session, project.id, event_id).event
        changed_event = event.with_state(
            state, set_by=actor.name, reason=reason, owner=owner, until=until
        )
        update = EventUpdate(changed_event, _note(changed_event))
        save_event(session, project.id, update, now=now, author=actor.name)
        add_audit_entry(
            session,
            AuditAction.SET_EVENT,
            actor,
            project_id=project.id,
            detail=f"event {event_id} to {state}: {update.note}",
            now=now,
        )
        session.commit()
    return event_history(engine, project, event_id)


def triage(engine: Engine, repository: str, *, period: timedelta, now: datetime) -> TriageReport:
    """Return a project's open decisions, and what happened within a period.

    Events with only imported series are left out: they need no decision now.
    """
    project, since = project_of_name(engine, repository), now - period
    with read_session(engine) as session:
        unsettled = events_of(
            session,
            project.id,
            states=(EventState.OPEN, EventState.ACKNOWLEDGED, EventState.EXPECTED),
            is_imported=False,
            most=MAX_TRIAGED,
        )
        settled_events = events_of(
            session,
            project.id,
            states=(EventState.FIXED, EventState.ENVIRONMENT),
            changed_since=since,
            is_imported=False,
            most=MAX_TRIAGED,
        )
        imported = events_of(session, project.id, is_imported=True, most=MAX_TRIAGED)
        notes = notes_since(session, project.id, since)
    of_imports = {view.event.id for view in imported}
    regressions = _by_size(unsettled)
    ended_regressions = _by_size(settled_events)
    expected = _in_state(regressions, EventState.EXPECTED)
    soon = now.date() + timedelta(days=EXPIRING_DAYS)
    return TriageReport(
        repository=repository,
        since=since,
        now=now,
        to_decide=_in_state(regressions, EventState.OPEN),
        acknowledged=_in_state(regressions, EventState.ACKNOWLEDGED),
        expiring=tuple(view for view in expected if _ends_by(view, soon)),
        expected=tuple(view for view in expected if not _ends_by(view, soon)),
        fixed=_in_state(ended_regressions, EventState.FIXED),
        environment=_in_state(ended_regressions, EventState.ENVIRONMENT),
        notes=tuple(one for one in notes if one.event_id not in of_imports),
    )


def _check_state(
    state: EventState, *, reason: str, owner: str, until: date | None, today: date
) -> None:
    is_expected = state is EventState.EXPECTED
    problems = (
        (
            state is EventState.FIXED,
            "an event cannot be set to fixed: it becomes fixed when a later change undoes it",
        ),
        (not reason, f"say why the event is {state}: give a reason"),
        (is_expected and not owner, "an expected event needs an owner, who answers for it"),
        (until is not None and not is_expected, f"an event is {state} without a last day"),
        (
            until is not None and not today <= until <= today + timedelta(days=MAX_DAYS),
            f"{until} is not within {MAX_DAYS} days from today",
        ),
    )
    for is_there, problem in problems:
        if is_there:
            raise UsageError(problem)


def _words(text: str) -> str:
    return clean(text, limit=MAX_WORDS) if text.strip() else ""


def _note(event: TrackedEvent) -> str:
    owner = f"; owner {event.owner}" if event.owner else ""
    until = f"; until {event.until}" if event.until else ""
    return f"{event.reason}{owner}{until}"


def _by_size(views: Iterable[EventView]) -> list[EventView]:
    """Return the regressions among events, largest first."""
    return sorted((view for view in views if view.is_regression), key=_size, reverse=True)


def _ends_by(view: EventView, day: date) -> bool:
    return view.event.until is not None and view.event.until <= day


def _in_state(views: list[EventView], state: EventState) -> tuple[EventView, ...]:
    return tuple(view for view in views if view.event.state is state)


def _size(view: EventView) -> float:
    """Return the largest change of an event as it is shown, 0 where none has a size."""
    sizes = (abs(one.change) for one in view.event.decisive_series)
    return max(filter(isfinite, sizes), default=0.0)
