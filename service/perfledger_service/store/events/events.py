"""Stores events, their histories, and which projects' histories have to be searched again.

The format is MessagePack, since changes may hold infinities, which JSON cannot represent.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

import msgspec
from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, or_, select

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import EventUpdate, TrackedEvent
from perfledger_service.errors import NotFoundError
from perfledger_service.store.events.tables import (
    EventNoteRow,
    EventSearchRow,
    TrackedEventRow,
)
from perfledger_service.store.removals.reads import check_event_kept
from perfledger_service.values.branch_views import BranchSearch, EventNote, EventView

# Most events of a project that are compared with a search: the newest, besides those whose
# expectation has ended; older ones are history.
MAX_TRACKED = 500
MAX_NOTES = 500
# Increase it when BranchSearch or its contents change, so that stored searches are repeated.
SEARCH_VERSION = 1


_EVENT_DECODER = msgspec.msgpack.Decoder(TrackedEvent)
_SEARCH_DECODER = msgspec.msgpack.Decoder(BranchSearch)
_NOTE_DECODER = msgspec.json.Decoder(EventNote)


def mark_search_due(session: Session, project_id: int) -> None:
    """Record that a project's history changed; the caller holds the project's lock."""
    row = session.get(EventSearchRow, project_id) or EventSearchRow(
        project_id=project_id, changes=0
    )
    row.changes += 1
    session.add(row)
    session.flush()


@dataclass(frozen=True, slots=True)
class DueSearch:
    """A project whose history has to be searched: its number of changes, and those searched."""

    project_id: int
    changes: int
    searched: int


def due_searches(session: Session, *, today: date) -> tuple[DueSearch, ...]:
    """Return the projects to search: their history has changed, or a day has passed.

    Also those with no stored search of this version and that change: an older version that still
    runs beside this one records that it searched, but keeps the stored search.
    """
    expired = select(TrackedEventRow.project_id).where(*_is_expired(today))
    rows = session.exec(
        select(EventSearchRow).where(
            or_(
                col(EventSearchRow.searched) < col(EventSearchRow.changes),
                col(EventSearchRow.content_changes) < col(EventSearchRow.changes),
                col(EventSearchRow.version) != SEARCH_VERSION,
                col(EventSearchRow.project_id).in_(expired),
            )
        )
    )
    return tuple(DueSearch(row.project_id, row.changes, row.searched) for row in rows)


def history_changes(session: Session, project_id: int) -> int:
    """Return how many changes a project's history had."""
    count = select(EventSearchRow.changes).where(col(EventSearchRow.project_id) == project_id)
    return session.exec(count).first() or 0


def searched_changes(session: Session, project_id: int) -> int:
    """Return how many changes of a project's history were searched."""
    searched_count = select(EventSearchRow.searched).where(
        col(EventSearchRow.project_id) == project_id
    )
    return session.exec(searched_count).first() or 0


def set_searched(session: Session, project_id: int, changes: int, search: BranchSearch) -> None:
    """Store a search of a project's history, and how many changes it covers."""
    session.exec(
        update(EventSearchRow)
        .where(col(EventSearchRow.project_id) == project_id)
        .values(
            searched=changes,
            content=msgspec.msgpack.encode(search),
            content_changes=changes,
            version=SEARCH_VERSION,
        )
    )


def newest_search(session: Session, project_id: int) -> tuple[BranchSearch, bool] | None:
    """Return the newest search of a project's history, and whether another one is due.

    None if there is none by this version of the program.
    """
    row = session.get(EventSearchRow, project_id)
    if row is None or row.content is None or row.version != SEARCH_VERSION:
        return None
    return _SEARCH_DECODER.decode(row.content), row.content_changes < row.changes


def tracked_events(session: Session, project_id: int, *, today: date) -> tuple[TrackedEvent, ...]:
    """Return a project's newest events and older ones that were expected until before today.

    The newest events of imports come in addition to as many others. The oldest is first.
    """
    events = {
        view.event.id: view.event
        for is_imported in (False, True)
        for view in events_of(session, project_id, is_imported=is_imported, most=MAX_TRACKED)
    }
    rows = session.exec(
        select(TrackedEventRow)
        .where(col(TrackedEventRow.project_id) == project_id, *_is_expired(today))
        .limit(MAX_TRACKED)  # at a time
    )
    events |= {event.id: event for event in (_view(row).event for row in rows)}
    return tuple(events[number] for number in sorted(events))


def events_of(
    session: Session,
    project_id: int,
    *,
    states: Collection[EventState] = (),
    before: int | None = None,
    changed_since: datetime | None = None,
    is_imported: bool | None = None,
    most: int,
) -> tuple[EventView, ...]:
    """Return events of a project, newest first, in any of some states (all if none is given).

    `before` is the id of the event after which to continue. `most` counts only imported events, or
    only others, if `is_imported` says so, so that years of an import do not crowd out the project's
    own events.
    """
    conditions: list[ColumnElement[bool]] = [col(TrackedEventRow.project_id) == project_id]
    if states:
        conditions.append(col(TrackedEventRow.state).in_(states))
    if changed_since is not None:
        conditions.append(col(TrackedEventRow.changed_at) >= changed_since)
    newest = select(TrackedEventRow).where(*conditions).order_by(col(TrackedEventRow.id).desc())
    views: list[EventView] = []
    batch: Sequence[EventView] | None = None
    while len(views) < most and (batch is None or len(batch) == most):
        older = newest if before is None else newest.where(col(TrackedEventRow.id) < before)
        batch = [_view(row) for row in session.exec(older.limit(most))]
        views += [each for each in batch if is_imported in {None, each.is_imported}]
        before = batch[-1].event.id if batch else before
    return tuple(views[:most])


def event_by_id(session: Session, project_id: int, event_id: int) -> EventView:
    """Return an event of a project; raise NotFoundError if none has this number.

    Raises RemovedError for one that is no longer kept.
    """
    row = session.exec(
        select(TrackedEventRow).where(
            col(TrackedEventRow.id) == event_id, col(TrackedEventRow.project_id) == project_id
        )
    ).first()
    if row is None:
        check_event_kept(session, project_id, event_id)
        msg = f"there is no event {event_id} in this project: list its events"
        raise NotFoundError(msg)
    return _view(row)


def events_of_pull_request(
    session: Session, project_id: int, pull_request: int
) -> tuple[TrackedEvent, ...]:
    """Return the events of a pull request, oldest first."""
    rows = session.exec(
        select(TrackedEventRow)
        .where(
            col(TrackedEventRow.project_id) == project_id,
            col(TrackedEventRow.pull_request) == pull_request,
        )
        .order_by(col(TrackedEventRow.id))
    )
    return tuple(_view(row).event for row in rows)


def save_event(
    session: Session, project_id: int, event_update: EventUpdate, *, now: datetime, author: str = ""
) -> int:
    """Store a new or changed event, with a note where there is one; return its number.

    The caller holds the project's lock.
    """
    event = event_update.event
    row = session.get(TrackedEventRow, event.id) if event.id else None
    if row is None:
        row = TrackedEventRow(
            project_id=project_id, state=event.state, opened_at=now, changed_at=now, content=b""
        )
    if row.state != event.state:
        row.changed_at = now
    row.state = event.state
    row.until = event.until
    row.pull_request = event.pull_request
    row.content = msgspec.msgpack.encode(event)
    session.add(row)
    session.flush()
    assert row.id is not None  # noqa: S101 - it is stored
    if event_update.note:
        session.add(
            EventNoteRow(
                event_id=row.id,
                noted_at=now,
                author=author,
                state=event.state,
                note=event_update.note,
            )
        )
        session.flush()
    return row.id


def notes_of_event(session: Session, event_id: int) -> tuple[EventNote, ...]:
    """Return an event's history, oldest first; only the newest entries if there are too many."""
    return tuple(reversed(_newest_notes(session, col(EventNoteRow.event_id) == event_id)))


def notes_since(session: Session, project_id: int, since: datetime) -> tuple[EventNote, ...]:
    """Return the history of a project's events since a moment, newest first."""
    of_project = select(TrackedEventRow.id).where(col(TrackedEventRow.project_id) == project_id)
    return _newest_notes(
        session,
        col(EventNoteRow.event_id).in_(of_project),
        col(EventNoteRow.noted_at) >= since,
    )


def _newest_notes(session: Session, *conditions: ColumnElement[bool]) -> tuple[EventNote, ...]:
    rows = session.exec(
        select(EventNoteRow)
        .where(*conditions)
        .order_by(col(EventNoteRow.id).desc())
        .limit(MAX_NOTES)
    )
    return tuple(row.to_value(_NOTE_DECODER) for row in rows)


def _is_expired(today: date) -> tuple[ColumnElement[bool], ...]:
    """Return the condition for events that were expected until a day before today."""
    is_expected = col(TrackedEventRow.state) == EventState.EXPECTED
    return is_expected, col(TrackedEventRow.until) < today


def _view(row: TrackedEventRow) -> EventView:
    event = replace(_EVENT_DECODER.decode(row.content), id=row.id or 0)
    return EventView(event=event, opened_at=row.opened_at, changed_at=row.changed_at)
