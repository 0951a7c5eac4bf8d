"""Stores the audit log, to which entries are only added."""

from datetime import datetime

import msgspec
from sqlmodel import Session, col, select

from perfledger_service.store.people.people_tables import AuditEntryRow
from perfledger_service.store.tables import ProjectRow
from perfledger_service.values.people.person import Actor, AuditAction, AuditEntry

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
            action=action,
            project_id=project_id,
            detail=detail,
            address=actor.address,
        )
    )
    session.flush()


def audit_entries(
    session: Session,
    *,
    project_id: int | None = None,
    most: int,
) -> tuple[AuditEntry, ...]:
    """Return the newest entries, newest first, of one project or all."""
    conditions = [col(AuditEntryRow.project_id) == project_id] if project_id is not None else []
    rows = session.exec(
        select(AuditEntryRow, ProjectRow.repository)
        .outerjoin(ProjectRow)
        .where(*conditions)
        .order_by(col(AuditEntryRow.id).desc())
        .limit(most)
    )
    return tuple(row.to_value(_ENTRY_DECODER, repository=repository) for row, repository in rows)
