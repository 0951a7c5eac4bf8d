"""Adds projects with their tokens, renames them, and lets runs of GitHub Actions upload."""

from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from perfledger_runners.checkouts.repository_name import is_repository_name
from perfledger_service.errors import ConflictError, NotFoundError, UsageError
from perfledger_service.store.comments.acceptances import acceptances_of_project
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import (
    Project,
    add_token,
    project_for,
    project_named,
    project_of_number,
    projects,
    rename_project as store_name,
    set_actions,
    set_trust,
)
from perfledger_service.usecases.server.token import TOKEN, token_hash
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.token_scope import TokenScope

# The service has its own pages under these names, which would hide a project's.
RESERVED_OWNERS = frozenset(
    {"account", "admin", "api", "healthz", "runs", "series", "sign-in", "static", "webhooks"}
)
MAX_NUMBER = 2**53  # of GitHub's repositories and owners: exact in JSON and in any database
MAX_LIFETIME = timedelta(days=3660)  # lifetime of a token that expires
TRUST, NO_TRUST = "its runners are trusted", "its runners are not trusted"


def add_project(
    engine: Engine,
    repository: str,
    *,
    token: str,
    now: datetime,
    trust_runners: bool = False,
    scope: TokenScope = TokenScope.UPLOAD,
    lifetime: timedelta | None = None,
    actor: Actor | None = None,
) -> None:
    """Let a repository (owner/name) upload with a token, of which only the hash is stored.

    With `trust_runners`, its runners' claims about the default branch are trusted from now on.
    Without a `lifetime` the token never expires. `actor` is recorded, here and below.

    An existing project gets another token: add the new one, switch over, revoke the old one. Raises
    UsageError for an invalid name, token or lifetime.
    """
    match = TOKEN.fullmatch(token)
    if match is None:
        msg = "the token is invalid: create one with `perfledger server project add OWNER/NAME`"
        raise UsageError(msg)
    _check_name(repository)
    if lifetime is not None and lifetime > MAX_LIFETIME:
        msg = f"a token expires after at most {MAX_LIFETIME.days} days, or never"
        raise UsageError(msg)
    with write_session(engine) as session:
        project = project_for(session, repository, now=now)
        if trust_runners:
            set_trust(session, project, trust_runners=True)
            _record(session, AuditAction.CHANGE_PROJECT, actor, project, TRUST, now=now)
        add_token(
            session,
            project,
            prefix=match[1],
            sha256=token_hash(token),
            scope=scope,
            expires_at=None if lifetime is None else now + lifetime,
            now=now,
        )
        period = "" if lifetime is None else f", for {lifetime.days} days"
        detail = f"{match[1]} that may {scope}{period}"
        _record(session, AuditAction.MAKE_TOKEN, actor, project, detail, now=now)
        session.commit()


def let_actions_upload(
    engine: Engine,
    repository: str,
    *,
    repository_id: int,
    owner_id: int,
    branch: str,
    actor: Actor | None = None,
    now: datetime,
) -> None:
    """Let the runs of a repository's GitHub Actions upload without a project token.

    Runs of `branch` by push or schedule may enter the baseline. Raises UsageError for an invalid
    name, number or branch, and ConflictError if another project has the repository's number.
    """
    _check_name(repository)
    if max(repository_id, owner_id) > MAX_NUMBER:
        msg = f"GitHub's numbers of repositories and owners are at most {MAX_NUMBER}"
        raise UsageError(msg)
    if branch.startswith("refs/"):
        msg = f"name the branch without refs/heads/: {branch.removeprefix('refs/heads/')!r}"
        raise UsageError(msg)
    with write_session(engine) as session:
        project = project_for(session, repository, now=now)
        try:
            set_actions(
                session, project, repository_id=repository_id, owner_id=owner_id, branch=branch
            )
            detail = f"runs of repository {repository_id} may upload, branch {branch!r}"
            _record(session, AuditAction.CHANGE_PROJECT, actor, project, detail, now=now)
            session.commit()
        except IntegrityError:
            msg = (
                f"repository {repository_id} is that of another project: compare the numbers, or "
                "if it was renamed, perfledger server project rename"
            )
            raise ConflictError(msg) from None


def refuse_actions(
    engine: Engine, repository: str, *, actor: Actor | None = None, now: datetime
) -> None:
    """Let no run of a repository's GitHub Actions upload; raise NotFoundError for no project."""
    with write_session(engine) as session:
        project = project_named(session, repository)
        set_actions(session, project, repository_id=None, owner_id=None, branch="")
        detail = "its runs may not upload"
        _record(session, AuditAction.CHANGE_PROJECT, actor, project, detail, now=now)
        session.commit()


def rename_project(
    engine: Engine, repository: str, new_name: str, *, actor: Actor | None = None, now: datetime
) -> None:
    """Give a project its repository's new name (owner/name) after it was renamed or transferred.

    Raises UsageError for an invalid name, NotFoundError for no project and ConflictError if another
    project has the name.
    """
    _check_name(new_name)
    with write_session(engine) as session:
        project = project_named(session, repository)
        store_name(session, project, new_name)
        detail = f"{project.repository} is now {new_name}"
        _record(session, AuditAction.CHANGE_PROJECT, actor, project, detail, now=now)
        session.commit()


def give_name(engine: Engine, project: Project, new_name: str) -> None:
    """Give a project a name, whatever its current one.

    Raises UsageError for an invalid name and ConflictError if another project has it.
    """
    _check_name(new_name)
    with write_session(engine) as session:
        store_name(session, project, new_name)
        session.commit()


def list_projects(engine: Engine) -> tuple[Project, ...]:
    """Return all projects by name."""
    with read_session(engine) as session:
        return projects(session)


def project_of_delivery(session: Session, repository: str, repository_id: int) -> Project:
    """Return the project of a delivery's repository; raise NotFoundError for none.

    A project that has the repository's number is found by it, because deliveries may be from before
    or after a renaming. Another repository may have taken the name of such a project.
    """
    if 0 < repository_id <= MAX_NUMBER:
        project = project_of_number(session, repository_id)
        if project is not None:
            return project
    project = project_named(session, repository)
    if project.actions_repository_id is not None:
        msg = f"{repository} is another repository than the project's: its number differs"
        raise NotFoundError(msg)
    return project


def list_acceptances(engine: Engine, repository: str) -> tuple[Acceptance, ...]:
    """Return the acceptances of a project's pull requests; raise NotFoundError for no project."""
    with read_session(engine) as session:
        return acceptances_of_project(session, project_named(session, repository).id)


def project_of_name(engine: Engine, repository: str) -> Project:
    """Return the project of a repository; raise NotFoundError for none."""
    with read_session(engine) as session:
        return project_named(session, repository)


def _record(
    session: Session,
    action: AuditAction,
    actor: Actor | None,
    project: Project,
    detail: str,
    *,
    now: datetime,
) -> None:
    """Add who did something to the audit log, unless nobody is named."""
    if actor is not None:
        add_audit_entry(session, action, actor, project_id=project.id, detail=detail, now=now)


def _check_name(repository: str) -> None:
    if not is_repository_name(repository):
        msg = f"{repository[:200]!r} is not a repository: give OWNER/NAME, such as octo/models"
        raise UsageError(msg)
    owner = repository.partition("/")[0].lower()
    if owner in RESERVED_OWNERS:
        msg = f"{repository} cannot be a project: /{owner}/… are pages of the service itself"
        raise UsageError(msg)
