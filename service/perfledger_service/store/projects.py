"""Stores projects, their tokens, and which bundle a token of a GitHub Actions run came with."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import delete, update
from sqlmodel import Session, col, select

from perfledger_service.errors import ConflictError, NotFoundError
from perfledger_service.store.database import is_storable
from perfledger_service.store.former_names import keep_former_name
from perfledger_service.store.tables import (
    ActionsTokenRow,
    ProjectRow,
    SeriesRow,
    TokenRow,
    UploadRow,
)
from perfledger_service.values.token_scope import TokenScope

_MAX_ID = 2**31 - 1  # of a series


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A repository that may upload."""

    id: int
    repository: str  # owner/name
    trust_runners: bool = False
    actions_branch: str = ""  # whose runs of GitHub Actions may enter the baseline
    actions_repository_id: int | None = None  # None: runs of GitHub Actions may not upload
    actions_owner_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredToken:
    """A token as it is stored: its hash, never the token itself."""

    project: Project
    prefix: str
    sha256: str
    created_at: datetime
    revoked_at: datetime | None
    scope: TokenScope
    expires_at: datetime | None  # None: never
    person_id: int | None = None  # whose own it is; None: the project's
    used_at: datetime | None = None  # to the hour; None: not yet


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
        raise no_project(repository)
    return _project(row)


def repository_of_page(session: Session, *, upload_id: str = "", series_id: str = "") -> str:
    """Return the repository of an upload or a series, "" where it is unknown."""
    query = select(ProjectRow.repository)
    if series_id.isascii() and series_id.isdigit() and int(series_id) <= _MAX_ID:
        query = query.join(SeriesRow).where(col(SeriesRow.id) == int(series_id))
    elif upload_id and is_storable(upload_id):
        query = query.join(UploadRow).where(col(UploadRow.id) == upload_id)
    else:
        return ""
    return session.exec(query).first() or ""


def no_project(repository: str) -> NotFoundError:
    """Return the error of a project that is not there, and of one that somebody may not view."""
    return NotFoundError(
        f"{repository} is not a project: run `perfledger server project add {repository}`"
    )


def set_trust(session: Session, project: Project, *, trust_runners: bool) -> None:
    """Record whether the word of a project's runners on its default branch is believed."""
    session.exec(
        update(ProjectRow)
        .where(col(ProjectRow.id) == project.id)
        .values(trust_runners=trust_runners)
    )


def project_of_number(session: Session, repository_id: int) -> Project | None:
    """Return the project whose repository has this number, None if it is no project's."""
    is_it = col(ProjectRow.actions_repository_id) == repository_id
    row = session.exec(select(ProjectRow).where(is_it)).first()
    return None if row is None else _project(row)


def project_of_actions(session: Session, *, repository_id: int, owner_id: int) -> Project | None:
    """Return the project whose runs of GitHub Actions may upload, by the repository's number."""
    row = session.exec(
        select(ProjectRow).where(
            col(ProjectRow.actions_repository_id) == repository_id,
            col(ProjectRow.actions_owner_id) == owner_id,
        )
    ).first()
    return None if row is None else _project(row)


def set_actions(
    session: Session,
    project: Project,
    *,
    repository_id: int | None,
    owner_id: int | None,
    branch: str,
) -> None:
    """Record which runs of GitHub Actions may upload, none without a number.

    Those of `branch` may enter the baseline.
    """
    session.exec(
        update(ProjectRow)
        .where(col(ProjectRow.id) == project.id)
        .values(
            actions_repository_id=repository_id, actions_owner_id=owner_id, actions_branch=branch
        )
    )


def rename_project(session: Session, project: Project, repository: str) -> None:
    """Give a project its repository's new name; raise ConflictError if another project has it."""
    namesake = _row(session, repository)
    if namesake is not None and namesake.id != project.id:
        msg = f"{project.repository} cannot become {repository}: that is another project's name"
        raise ConflictError(msg)
    if repository.lower() != project.repository.lower():
        keep_former_name(session, project.id, project.repository)
    session.exec(
        update(ProjectRow)
        .where(col(ProjectRow.id) == project.id)
        .values(repository=repository, repository_key=repository.lower())
    )


def project_by_id(session: Session, project_id: int) -> Project:
    """Return a project."""
    return _project(session.exec(select(ProjectRow).where(col(ProjectRow.id) == project_id)).one())


def projects(session: Session) -> tuple[Project, ...]:
    """Return all projects by name."""
    rows = session.exec(select(ProjectRow).order_by(col(ProjectRow.repository_key)))
    return tuple(_project(row) for row in rows)


def add_token(
    session: Session,
    project: Project,
    *,
    prefix: str,
    sha256: str,
    scope: TokenScope,
    expires_at: datetime | None,
    person_id: int | None = None,
    now: datetime,
) -> None:
    """Store a token's hash; it is a person's own, or the project's."""
    session.add(
        TokenRow(
            project_id=project.id,
            prefix=prefix,
            sha256=sha256,
            scope=scope,
            expires_at=expires_at,
            person_id=person_id,
            created_at=now,
        )
    )
    session.flush()


def token_of_prefix(session: Session, prefix: str) -> StoredToken | None:
    """Return the token with this prefix, revoked or not."""
    row = session.exec(
        select(TokenRow, ProjectRow).join(ProjectRow).where(col(TokenRow.prefix) == prefix)
    ).first()
    return None if row is None else _token(*row)


def tokens(session: Session, *, person_id: int | None = None) -> tuple[StoredToken, ...]:
    """Return the tokens of all or of one person, by project and age."""
    is_listed = () if person_id is None else (col(TokenRow.person_id) == person_id,)
    rows = session.exec(
        select(TokenRow, ProjectRow)
        .join(ProjectRow)
        .where(*is_listed)
        .order_by(col(ProjectRow.repository_key), col(TokenRow.id))
    )
    return tuple(_token(token, project) for token, project in rows)


def revoke_token(session: Session, prefix: str, *, now: datetime) -> bool:
    """Revoke a token from `now` on, and return False for one that was revoked before.

    Raises NotFoundError for an unknown prefix.
    """
    is_of_prefix = col(TokenRow.prefix) == prefix
    is_live = (is_of_prefix, col(TokenRow.revoked_at).is_(None))
    if session.exec(update(TokenRow).where(*is_live).values(revoked_at=now)).rowcount:
        return True
    if session.exec(select(TokenRow.id).where(is_of_prefix)).first() is None:
        msg = f"no token begins with {prefix!r}: `perfledger server project list` shows all tokens"
        raise NotFoundError(msg)
    return False


def note_token_use(session: Session, prefix: str, *, now: datetime) -> None:
    """Record that a token was used."""
    session.exec(update(TokenRow).where(col(TokenRow.prefix) == prefix).values(used_at=now))


def use_actions_token(
    session: Session, jti: str, *, bundle_sha256: str, expires_at: datetime, now: datetime
) -> None:
    """Record that a bundle came with a token; the same again changes nothing.

    Raises ConflictError for another bundle. Tokens that ended are forgotten.
    """
    session.exec(delete(ActionsTokenRow).where(col(ActionsTokenRow.expires_at) < now))
    row = session.get(ActionsTokenRow, jti)
    if row is None:
        session.add(ActionsTokenRow(jti=jti, bundle_sha256=bundle_sha256, expires_at=expires_at))
        session.flush()
    elif row.bundle_sha256 != bundle_sha256:
        msg = "this token of the run came with another bundle: request a new one for each upload"
        raise ConflictError(msg)


def lock_project(session: Session, project_id: int) -> None:
    """Lock the project until the transaction ends, so that one upload at a time adds commits.

    SQLite has one writer anyway and ignores the clause.
    """
    session.exec(
        select(ProjectRow.id).where(col(ProjectRow.id) == project_id).with_for_update()
    ).one()


def _row(session: Session, repository: str) -> ProjectRow | None:
    if not is_storable(repository):
        return None
    key = repository.lower()
    return session.exec(select(ProjectRow).where(col(ProjectRow.repository_key) == key)).first()


def _project(row: ProjectRow) -> Project:
    return row.to_value(_PROJECT_DECODER)


def _token(row: TokenRow, project: ProjectRow) -> StoredToken:
    return row.to_value(_STORED_TOKEN_DECODER, project=_project(project))
