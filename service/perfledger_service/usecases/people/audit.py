"""Reads the audit log."""

from dataclasses import replace

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.store.database import read_session
from perfledger_service.store.people.audit import audit_entries
from perfledger_service.store.projects import project_named
from perfledger_service.values.people.person import AuditEntry
from perfledger_service.values.service_views.admin import AuditFilter, AuditView


def audit_log(engine: Engine, *, repository: str = "", most: int) -> tuple[AuditEntry, ...]:
    """Return the newest entries of the audit log, of one project or of all, newest first.

    Raises NotFoundError for no such project.
    """
    with read_session(engine) as session:
        return audit_view(session, AuditFilter(repository=repository), most=most).entries


def audit_view(session: Session, chosen: AuditFilter, *, most: int) -> AuditView:
    """Return a page of the audit log in the projects of a session; raise NotFoundError for none."""
    if chosen.repository:
        project = project_named(session, chosen.repository)
        chosen = replace(chosen, repository=project.repository)
    entries = audit_entries(session, chosen=chosen, most=most + 1)
    has_older = len(entries) > most
    return AuditView(entries=entries[:most], older=entries[most - 1].id if has_older else None)
