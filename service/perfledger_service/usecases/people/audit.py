"""Reads the audit log."""

from sqlalchemy import Engine

from perfledger_service.store.database import read_session
from perfledger_service.store.people.audit import audit_entries
from perfledger_service.store.projects import project_named
from perfledger_service.values.people.person import AuditEntry

MOST_ENTRIES = 200


def audit_log(engine: Engine, *, repository: str = "", most: int) -> tuple[AuditEntry, ...]:
    """Return the newest entries of the audit log, of one project or of all, newest first.

    Raises NotFoundError for no such project.
    """
    with read_session(engine) as session:
        project_id = project_named(session, repository).id if repository else None
        return audit_entries(session, project_id=project_id, most=most)
