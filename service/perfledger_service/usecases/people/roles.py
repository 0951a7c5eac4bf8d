"""Resolves people's roles: GitHub's permission on a repository, or a granted role if higher.

GitHub's answer is stored and holds for ROLE_FRESH. While GitHub does not answer, the last answer
holds until it is ROLE_STALE old; after that, a person has only granted roles.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import GitHubError, NotFoundError
from perfledger_service.github.account_permissions import AccountPermissions
from perfledger_service.store.database import read_session, write_if_free, write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.people.persons import person_named
from perfledger_service.store.people.roles import (
    RepositoryRole,
    all_grants,
    grant_role as store_grant,
    granted_roles,
    remove_grant,
    repository_roles,
    save_repository_role,
)
from perfledger_service.store.projects import Project, project_named, projects
from perfledger_service.values.people.person import (
    Actor,
    AuditAction,
    Person,
    PersonProvider,
    ProjectRole,
    Role,
)

ROLE_FRESH = timedelta(minutes=5)
ROLE_STALE = timedelta(hours=1)
# Between two requests for a role while GitHub does not answer, so that pages do not wait for it.
ROLE_RETRY = timedelta(minutes=1)
# For a page of all projects: the remaining roles are from the last answer, and are asked for next.
MAX_QUESTIONS = 5
SERVER_ERROR = 500  # and above
# GitHub's words; an organisation's custom role counts as the one that it is based on.
ROLE_OF_PERMISSION = {
    "admin": Role.ADMIN,
    "maintain": Role.MAINTAINER,
    "write": Role.MAINTAINER,
    "triage": Role.VIEWER,
    "read": Role.VIEWER,
}

_log = structlog.stdlib.get_logger(__name__)


def roles_of(
    engine: Engine,
    person: Person,
    permissions: AccountPermissions | None,
    *,
    repository: str = "",
    now: datetime,
) -> dict[int, Role]:
    """Return a person's roles by project: in all projects, or in the one of a repository.

    Only people who signed in with GitHub have GitHub's permissions: a proxy's user names may belong
    to others on GitHub.
    """
    with read_session(engine) as session:
        stored = repository_roles(session, person.id)
        granted = granted_roles(session, person.id)
        relevant = [
            one for one in projects(session) if repository.lower() in {"", one.repository.lower()}
        ]
    if person.provider is PersonProvider.GITHUB and permissions is not None:
        none_fresh = ROLE_FRESH if repository else ROLE_STALE
        due = [one for one in relevant if _is_due(stored.get(one.id), none_fresh, now=now)]
        stored |= _refresh_roles(engine, person, permissions, due, stored, now=now)
    roles: dict[int, Role] = {}
    for project in relevant:
        sources = (_valid_role(stored.get(project.id), now=now), granted.get(project.id))
        candidates = [role for role in sources if role is not None]
        if candidates:
            roles[project.id] = max(candidates, key=tuple(Role).index)
    return roles


def grant_role(
    engine: Engine, name: str, repository: str, role: Role, *, actor: Actor, now: datetime
) -> None:
    """Give a person who signed in once a role in a project; raise NotFoundError for neither."""
    with write_session(engine) as session:
        project, person = project_named(session, repository), person_named(session, name)
        store_grant(session, person, project.id, role, by=actor.name, now=now)
        detail = f"{role} to {person.name}"
        add_audit_entry(
            session, AuditAction.GRANT_ROLE, actor, project_id=project.id, detail=detail, now=now
        )
        session.commit()


def revoke_role(engine: Engine, name: str, repository: str, *, actor: Actor, now: datetime) -> None:
    """Revoke a role granted to a person; raise NotFoundError if none was."""
    with write_session(engine) as session:
        project, person = project_named(session, repository), person_named(session, name)
        if not remove_grant(session, person, project.id):
            msg = (
                f"{person.name} was granted no role in {project.repository}: a role by GitHub's "
                "permissions is taken back there"
            )
            raise NotFoundError(msg)
        add_audit_entry(
            session,
            AuditAction.REVOKE_ROLE,
            actor,
            project_id=project.id,
            detail=f"of {person.name}",
            now=now,
        )
        session.commit()


def list_grants(engine: Engine) -> tuple[ProjectRole, ...]:
    """Return the granted roles, by project and person."""
    with read_session(engine) as session:
        return all_grants(session)


def _refresh_roles(
    engine: Engine,
    person: Person,
    permissions: AccountPermissions,
    due: list[Project],
    stored: dict[int, RepositoryRole],
    *,
    now: datetime,
) -> dict[int, RepositoryRole]:
    """Ask GitHub for some of the due roles, until it fails, and store its answers."""
    answers: dict[int, RepositoryRole] = {}
    asked_at = {project_id: answer.asked_at for project_id, answer in stored.items()}
    due = sorted(due, key=lambda one: (one.id in asked_at, asked_at.get(one.id, now)))  # new: first
    for index, project in enumerate(due[:MAX_QUESTIONS]):
        try:
            role = _role_at_github(permissions, project, person)
        except GitHubError as error:
            _log.warning(
                "GitHub did not say a role", repository=project.repository, reason=str(error)
            )
            is_away = error.github_status is None or error.github_status >= SERVER_ERROR
            # If GitHub is down, asking for other projects would take as long.
            for one in due[index:] if is_away else (project,):
                answers[one.id] = _role_without_answer(one, stored.get(one.id), now=now)
            if is_away:
                break
        else:
            answers[project.id] = RepositoryRole(
                project_id=project.id, role=role, asked_at=now, checked_at=now
            )
    if answers:
        write_if_free(engine, partial(_save, person=person, answers=tuple(answers.values())))
    return answers


def _save(session: Session, person: Person, answers: Sequence[RepositoryRole]) -> None:
    for answer in answers:
        save_repository_role(session, person.id, answer)


def _role_without_answer(
    project: Project, before: RepositoryRole | None, *, now: datetime
) -> RepositoryRole:
    return RepositoryRole(
        project_id=project.id,
        role=before.role if before else None,
        asked_at=now,
        checked_at=before.checked_at if before else None,
    )


def _role_at_github(
    permissions: AccountPermissions, project: Project, person: Person
) -> Role | None:
    """Return a person's role by GitHub's permissions.

    None if another account has the login, or another repository the project's name: its number is
    compared if the project has one.
    """
    answer = permissions.account_permission(project.repository, person.login)
    role = ROLE_OF_PERMISSION.get(answer.permission)
    if role is None or str(answer.account_id) != person.subject:
        return None
    number = project.actions_repository_id
    if number is not None and permissions.repository_id(project.repository) != number:
        _log.warning("another repository has a project's name", repository=project.repository)
        return None
    return role


def _is_due(answer: RepositoryRole | None, none_fresh: timedelta, *, now: datetime) -> bool:
    """Return whether to ask for a role again; `none_fresh` is how long "no role" holds."""
    if answer is None:
        return True
    fresh = none_fresh if answer.role is None else ROLE_FRESH
    is_fresh = answer.checked_at is not None and now - answer.checked_at < fresh
    return not is_fresh and now - answer.asked_at >= ROLE_RETRY


def _valid_role(answer: RepositoryRole | None, *, now: datetime) -> Role | None:
    """Return GitHub's answer, None if it is too old."""
    if answer is None or answer.checked_at is None or now - answer.checked_at >= ROLE_STALE:
        return None
    return answer.role
