"""Selects and removes old events, jobs, canaries and entries of the audit log."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func
from sqlmodel import Session, col, select

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.store.comments.tables import CommandJobRow
from perfledger_service.store.devices.canary_removal import (
    removable_canary_runs,
    remove_canary_runs,
)
from perfledger_service.store.events.events import MAX_TRACKED
from perfledger_service.store.events.tables import EventNoteRow, TrackedEventRow
from perfledger_service.store.jobs.runner_jobs import OPEN_STATES
from perfledger_service.store.jobs.tables import RunnerJobRow
from perfledger_service.store.people.tables import AuditEntryRow
from perfledger_service.store.removals.tables import EventRemovalRow
from perfledger_service.store.tables import add_if_new
from perfledger_service.values.storage.retention import RetentionClass

RecordKey = int | str
# Nothing more happens to these events. Acknowledged and expected ones stay.
_ENDED_STATES = (EventState.FIXED, EventState.ENVIRONMENT)


def removable_records(
    session: Session, kind: RetentionClass, *, before: datetime
) -> tuple[RecordKey, ...]:
    """Return the ids of a class's records that are no longer kept, oldest first.

    An event stays while it is one of those that a search is compared with, a job while a command in
    a comment names it.
    """
    match kind:
        case RetentionClass.EVENTS:
            return _events(session, before)
        case RetentionClass.JOBS:
            return _jobs(session, before)
        case RetentionClass.AUDIT:
            noted_at = col(AuditEntryRow.noted_at)
            entries = select(AuditEntryRow.id).where(noted_at < before).order_by(noted_at)
            return tuple(one for one in session.exec(entries) if one is not None)
        case RetentionClass.CANARIES:
            return removable_canary_runs(session, before=before)
        case _:
            return ()


def remove_records(
    session: Session,
    kind: RetentionClass,
    ids: Sequence[RecordKey],
    *,
    removed_at: datetime,
    kept_days: int,
) -> None:
    """Remove records of a class by their ids; an event whose state was set meanwhile stays."""
    match kind:
        case RetentionClass.EVENTS:
            _remove_events(session, ids, removed_at=removed_at, kept_days=kept_days)
        case RetentionClass.JOBS:
            session.exec(delete(RunnerJobRow).where(col(RunnerJobRow.id).in_(ids)))
        case RetentionClass.AUDIT:
            session.exec(delete(AuditEntryRow).where(col(AuditEntryRow.id).in_(ids)))
        case RetentionClass.CANARIES:
            remove_canary_runs(session, ids)
        case _:
            msg = f"{kind} has no records of its own"
            raise ValueError(msg)


def _events(session: Session, before: datetime) -> tuple[RecordKey, ...]:
    ranked = select(
        TrackedEventRow.id,
        TrackedEventRow.state,
        TrackedEventRow.changed_at,
        func.row_number()
        .over(partition_by=col(TrackedEventRow.project_id), order_by=col(TrackedEventRow.id).desc())
        .label("rank"),
    ).subquery()
    return tuple(
        session.exec(
            select(ranked.c.id)
            .where(
                ranked.c.rank > MAX_TRACKED,
                ranked.c.state.in_(_ENDED_STATES),
                ranked.c.changed_at < before,
            )
            .order_by(ranked.c.id)
        )
    )


def _remove_events(
    session: Session, ids: Sequence[RecordKey], *, removed_at: datetime, kept_days: int
) -> None:
    """Remove events with their notes, and record it."""
    before = removed_at - timedelta(days=kept_days)
    ended = session.exec(
        select(TrackedEventRow.id, TrackedEventRow.project_id)
        .where(
            col(TrackedEventRow.id).in_(ids),
            col(TrackedEventRow.state).in_(_ENDED_STATES),
            col(TrackedEventRow.changed_at) < before,
        )
        .with_for_update()
    ).all()
    for event_id, project_id in ended:
        values = {"removed_at": removed_at, "kept_days": kept_days}
        key = {"event_id": event_id, "project_id": project_id}
        add_if_new(session, EventRemovalRow, key | values)
    event_ids = [event_id for event_id, _ in ended]
    session.exec(delete(EventNoteRow).where(col(EventNoteRow.event_id).in_(event_ids)))
    session.exec(delete(TrackedEventRow).where(col(TrackedEventRow.id).in_(event_ids)))


def _jobs(session: Session, before: datetime) -> tuple[RecordKey, ...]:
    named = select(CommandJobRow.job_id).where(col(CommandJobRow.job_id).is_not(None))
    return tuple(
        session.exec(
            select(RunnerJobRow.id)
            .where(
                col(RunnerJobRow.state).not_in(OPEN_STATES),
                col(RunnerJobRow.finished_at) < before,
                col(RunnerJobRow.id).not_in(named),
            )
            .order_by(col(RunnerJobRow.finished_at))
        )
    )
