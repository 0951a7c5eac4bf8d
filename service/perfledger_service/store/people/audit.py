"""Stores the audit log, to which entries are only added."""

from collections.abc import Iterator
from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from perfledger_service.store.people.tables import AuditEntryRow
from perfledger_service.store.tables import ProjectRow
from perfledger_service.values.people.person import Actor, AuditAction, AuditEntry
from perfledger_service.values.service_views.admin import AuditFilter

ALL_ENTRIES = AuditFilter()
_ENTRY_DECODER = msgspec.json.Decoder(AuditEntry)


def add_audit_entry(
    session: Session,
    action: AuditAction,
    actor: Actor,
    *,
    project_id: int | None = None,
    detail: str = "",
    now: datetime,
) -> None:
    """Record what somebody did, in the transaction in which it is done."""
    session.add(
        AuditEntryRow(
            noted_at=now,
            actor=actor.name,
            account=actor.account,
            action=action,
            project_id=project_id,
            detail=detail,
            address=actor.address,
        )
    )
    session.flush()


def audit_entries(
    session: Session, *, chosen: AuditFilter = ALL_ENTRIES, most: int
) -> tuple[AuditEntry, ...]:
    """Return the newest entries that a filter lets through, newest first."""
    rows = session.exec(
        select(AuditEntryRow, ProjectRow.repository)
        .outerjoin(ProjectRow)
        .where(*_conditions(chosen))
        .order_by(col(AuditEntryRow.id).desc())
        .limit(most)
    )
    return tuple(row.to_value(_ENTRY_DECODER, repository=repository) for row, repository in rows)


def _conditions(chosen: AuditFilter) -> Iterator[ColumnElement[bool]]:
    if chosen.repository:
        yield col(ProjectRow.repository_key) == chosen.repository.lower()
    if chosen.actor:
        yield col(AuditEntryRow.actor) == chosen.actor
    if chosen.action is not None:
        yield col(AuditEntryRow.action) == chosen.action
    if chosen.since is not None:
        yield col(AuditEntryRow.noted_at) >= chosen.since
    if chosen.until is not None:
        yield col(AuditEntryRow.noted_at) < chosen.until
    if chosen.before is not None:
        yield col(AuditEntryRow.id) < chosen.before
