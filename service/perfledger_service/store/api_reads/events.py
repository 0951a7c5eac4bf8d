"""Reads a project's events, page by page."""

from collections.abc import Collection

from sqlmodel import Session, col, func, select

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.store.api_reads.keysets import page_of
from perfledger_service.store.api_reads.values import Key, KeysetPage
from perfledger_service.store.events.events import events_of
from perfledger_service.store.events.tables import TrackedEventRow
from perfledger_service.values.branch_views import EventView


def events_page(
    session: Session,
    project_id: int,
    *,
    states: Collection[EventState] = (),
    after: Key | None = None,
    most: int,
) -> KeysetPage[EventView]:
    """Return a project's events in given states, or all, newest first."""
    before = None if after is None else int(after[0])
    views = events_of(session, project_id, states=states, before=before, most=most + 1)
    return page_of(views, most=most, key=lambda view: (view.event.id,), read=lambda view: view)


def count_events(session: Session, project_id: int) -> int:
    """Return how many events a project has."""
    is_of_project = col(TrackedEventRow.project_id) == project_id
    count = select(func.count()).select_from(TrackedEventRow)
    return session.exec(count.where(is_of_project)).one()
