"""Stores projects and their tokens."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import update
from sqlmodel import Session, col, select

from perfledger_service.errors import NotFoundError
from perfledger_service.store.tables import ProjectRow, TokenRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A repository that may upload."""

    id: int
    repository: str  # owner/name
    trust_runners: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """A token as it is stored: its hash, never the token itself."""

    project: Project
    prefix: str
    sha256: str
    created_at: datetime
    revoked_at: datetime | None


_PROJECT_DECODER = msgspec.json.Decoder(Project)
_STORED_TOKEN_DECODER = msgspec.json.Decoder(StoredToken)


def project_for(session: Session, repository: str, *, now: datetime) -> Project:
    """Return the repository's project; add it if there is none."""
    row = _row(session, repository)
    if row is None:
        key = repository.lower()
        row = ProjectRow(repository=repository, repository_key=key, created_at=now)
        session.add(row)
        session.flush()
    return _project(row)


def project_named(session: Session, repository: str) -> Project:
    """Return the project of a repository, ignoring case; raise NotFoundError without one."""
    row = _row(session, repository)
    if row is None:
        msg = f"{repository} is not a project: run `perfledger server project add {repository}`"
        raise NotFoundError(msg)
    return _project(row)


def set_trust(session: Session, project: Project, *, trust_runners: bool) -> None:
    """Record whether the word of a project's runners on its default branch is believed."""
    session.exec(
        update(ProjectRow)
        .where(col(ProjectRow.id) == project.id)
        .values(trust_runners=trust_runners)
    )


def project_by_id(session: Session, project_id: int) -> Project:
    """Return a project."""
    return _project(session.exec(select(ProjectRow).where(col(ProjectRow.id) == project_id)).one())


def projects(session: Session) -> tuple[Project, ...]:
    """Return all projects by name."""
    rows = session.exec(select(ProjectRow).order_by(col(ProjectRow.repository_key)))
    return tuple(_project(row) for row in rows)


def add_token(
    session: Session, project: Project, *, prefix: str, sha256: str, now: datetime
) -> None:
    """Store a token's hash."""
    session.add(TokenRow(project_id=project.id, prefix=prefix, sha256=sha256, created_at=now))
    session.flush()


def token_of_prefix(session: Session, prefix: str) -> StoredToken | None:
    """Return the token with this prefix, revoked or not."""
    row = session.exec(
        select(TokenRow, ProjectRow).join(ProjectRow).where(col(TokenRow.prefix) == prefix)
    ).first()
    return None if row is None else _token(*row)


def tokens(session: Session) -> tuple[StoredToken, ...]:
    """Return all tokens, by project and age."""
    rows = session.exec(
        select(TokenRow, ProjectRow)
        .join(ProjectRow)
        .order_by(col(ProjectRow.repository_key), col(TokenRow.id))
    )
    return tuple(_token(token, project) for token, project in rows)


def revoke_token(session: Session, prefix: str, *, now: datetime) -> None:
    """Revoke a token from `now` on; raise NotFoundError for an unknown prefix."""
    row = session.exec(select(TokenRow).where(col(TokenRow.prefix) == prefix)).first()
    if row is None:
        msg = f"no token begins with {prefix!r}: `perfledger server project list` shows all tokens"
        raise NotFoundError(msg)
    row.revoked_at = row.revoked_at or now
    session.add(row)


def lock_project(session: Session, project_id: int) -> None:
    """Lock the project until the transaction ends, so that one upload at a time adds commits.

    SQLite has one writer anyway and ignores the clause.
    """
    session.exec(
        select(ProjectRow.id).where(col(ProjectRow.id) == project_id).with_for_update()
    ).one()


def _row(session: Session, repository: str) -> ProjectRow | None:
    key = repository.lower()
    return session.exec(select(ProjectRow).where(col(ProjectRow.repository_key) == key)).first()


def _project(row: ProjectRow) -> Project:
    return row.to_value(_PROJECT_DECODER)


def _token(row: TokenRow, project: ProjectRow) -> StoredToken:
    return row.to_value(_STORED_TOKEN_DECODER, project=_project(project))
