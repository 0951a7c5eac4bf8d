"""Stores the earlier names of projects: results that were measured under one may arrive later."""

from sqlalchemy import delete
from sqlmodel import Field, Session, col, select

from perfledger_service.store.database import is_storable
from perfledger_service.store.tables import ProjectRow, StoreRow


class FormerNameRow(StoreRow, table=True):
    """A project's earlier name (owner/name, in lower case); of several projects, the last one's."""

    repository_key: str = Field(primary_key=True)
    project_id: int = Field(foreign_key="project.id", index=True)


def keep_former_name(session: Session, project_id: int, repository: str) -> None:
    """Record that a project no longer has a name."""
    key = repository.lower()
    session.exec(delete(FormerNameRow).where(col(FormerNameRow.repository_key) == key))
    session.add(FormerNameRow(repository_key=key, project_id=project_id))
    session.flush()


def is_former_name(session: Session, project_id: int, repository: str) -> bool:
    """Return whether a project had a name that no project has now."""
    if not is_storable(repository):
        return False
    key = repository.lower()
    row = session.get(FormerNameRow, key)
    is_taken = select(ProjectRow.id).where(col(ProjectRow.repository_key) == key)
    return (
        row is not None and row.project_id == project_id and session.exec(is_taken).first() is None
    )
