"""Stores people's roles in projects: what GitHub said, and what was granted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from perfledger_service.store.people.tables import RepositoryRoleRow, RoleGrantRow
from perfledger_service.store.tables import PersonRow, ProjectRow, add_if_new
from perfledger_service.values.people.person import Person, ProjectRole, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRole:
    """A person's role by GitHub's permissions, None for none; `checked_at` is when GitHub said so.

    `asked_at` is when GitHub was asked last, also without an answer.
    """

    project_id: int
    role: Role | None
    asked_at: datetime
    checked_at: datetime | None


def repository_roles(session: Session, person_id: int) -> dict[int, RepositoryRole]:
    """Return what GitHub said of a person's roles, by project."""
    rows = session.exec(
        select(RepositoryRoleRow).where(col(RepositoryRoleRow.person_id) == person_id)
    )
    return {
        row.project_id: RepositoryRole(
            project_id=row.project_id,
            role=Role(row.role) if row.role else None,
            asked_at=row.asked_at,
            checked_at=row.checked_at,
        )
        for row in rows
    }


def save_repository_role(session: Session, person_id: int, answer: RepositoryRole) -> None:
    """Store what GitHub said of a person's role in a project; requests may do so at once."""
    values = {
        "role": answer.role or "",
        "asked_at": answer.asked_at,
        "checked_at": answer.checked_at,
    }
    _put(session, RepositoryRoleRow, person_id, answer.project_id, values)


def granted_roles(session: Session, person_id: int) -> dict[int, Role]:
    """Return the roles that a person was granted, by project."""
    rows = session.exec(select(RoleGrantRow).where(col(RoleGrantRow.person_id) == person_id))
    return {row.project_id: Role(row.role) for row in rows}


def grant_role(
    session: Session, person: Person, project_id: int, role: Role, *, by: str, now: datetime
) -> None:
    """Give a person a role in a project, in place of the one granted before."""
    values = {"role": role, "granted_by": by, "granted_at": now}
    _put(session, RoleGrantRow, person.id, project_id, values)


def remove_grant(session: Session, person: Person, project_id: int) -> bool:
    """Take a granted role back; return whether there was one."""
    is_of_person = (
        col(RoleGrantRow.person_id) == person.id,
        col(RoleGrantRow.project_id) == project_id,
    )
    has_grant = session.exec(select(RoleGrantRow.role).where(*is_of_person)).first() is not None
    session.exec(delete(RoleGrantRow).where(*is_of_person))
    return has_grant


def all_grants(session: Session) -> tuple[ProjectRole, ...]:
    """Return all granted roles, by project and person."""
    rows = session.exec(
        select(RoleGrantRow, PersonRow, ProjectRow)
        .join(PersonRow, col(PersonRow.id) == col(RoleGrantRow.person_id))
        .join(ProjectRow, col(ProjectRow.id) == col(RoleGrantRow.project_id))
        .order_by(col(ProjectRow.repository_key), col(PersonRow.login), col(PersonRow.id))
    )
    return tuple(
        ProjectRole(
            person=msgspec.convert(person, Person, from_attributes=True).name,
            repository=project.repository,
            role=Role(grant.role),
            granted_by=grant.granted_by,
            granted_at=grant.granted_at,
        )
        for grant, person, project in rows
    )


def _put(
    session: Session,
    row: type[RepositoryRoleRow | RoleGrantRow],
    person_id: int,
    project_id: int,
    values: Mapping[str, object],
) -> None:
    """Store what holds for a person in a project; another transaction may do so at once."""
    key = {"person_id": person_id, "project_id": project_id}
    add_if_new(session, row, {**key, **values})
    is_theirs = (col(row.person_id) == person_id, col(row.project_id) == project_id)
    session.exec(update(row).where(*is_theirs).values(**values))
