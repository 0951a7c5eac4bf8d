"""Stores which commits of forks' pull requests runners may run, and when permission ended."""

from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement, func, update
from sqlmodel import Session, col, select

from perfledger_service.store.comments.tables import ForkPermissionRow
from perfledger_service.store.tables import ProjectRow, add_if_new
from perfledger_service.store.uploads import CheckedHead

_HEAD_DECODER = msgspec.json.Decoder(CheckedHead)
# The head in the row that revokes a whole pull request.
_ALL_HEADS = ""
_IS_ALLOWED = (
    col(ForkPermissionRow.allowed_at).is_not(None),
    col(ForkPermissionRow.revoked_at).is_(None),
)


def allow_head(session: Session, head: CheckedHead, *, login: str, allowed_at: datetime) -> bool:
    """Let runners run a head as of a time; return False if it was revoked since.

    The caller holds the project's lock.
    """
    _add(session, head)
    revocations = session.exec(
        select(ForkPermissionRow.revoked_at).where(
            *_of_pull_request(head),
            col(ForkPermissionRow.head_sha).in_((head.head_sha, _ALL_HEADS)),
        )
    )
    if any(one is not None and one >= allowed_at for one in revocations):
        return False
    session.exec(
        update(ForkPermissionRow)
        .where(*_of_head(head))
        .values(login=login, allowed_at=allowed_at, revoked_at=None)
    )
    return True


def is_allowed(session: Session, head: CheckedHead) -> bool:
    """Return whether runners may run a head of a fork."""
    allowed = select(ForkPermissionRow.id).where(*_of_head(head), *_IS_ALLOWED)
    return session.exec(allowed).first() is not None


def allowed_heads(session: Session) -> tuple[CheckedHead, ...]:
    """Return all heads of forks that runners may run."""
    rows = session.exec(
        select(ForkPermissionRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(*_IS_ALLOWED)
        .order_by(col(ForkPermissionRow.id))
    )
    return tuple(row.to_value(_HEAD_DECODER, repository=repository) for row, repository in rows)


def revoke_head(session: Session, head: CheckedHead, *, now: datetime) -> None:
    """Revoke a head, including a permission that was given before and arrives later.

    The caller holds the project's lock.
    """
    _add(session, head)
    session.exec(update(ForkPermissionRow).where(*_of_head(head)).values(revoked_at=now))


def last_push(session: Session, head: CheckedHead) -> datetime | None:
    """Return when a head of a pull request was last superseded or revoked, None if never."""
    newest = select(func.max(ForkPermissionRow.revoked_at)).where(*_of_pull_request(head))
    return session.exec(newest.where(col(ForkPermissionRow.head_sha) != _ALL_HEADS)).one()


def revoke_permissions(
    session: Session, project_id: int, pull_request: int, *, revoked_at: datetime
) -> bool:
    """Revoke all permissions of a pull request up to a time; return whether there were any.

    A permission that was given before and arrives later has no effect. The caller holds the
    project's lock.
    """
    every = CheckedHead(
        project_id=project_id, repository="", pull_request=pull_request, head_sha=_ALL_HEADS
    )
    revoke_head(session, every, now=revoked_at)
    allowed = (
        *_of_pull_request(every),
        *_IS_ALLOWED,
        col(ForkPermissionRow.allowed_at) <= revoked_at,
    )
    is_any = session.exec(select(ForkPermissionRow.id).where(*allowed)).first() is not None
    session.exec(update(ForkPermissionRow).where(*allowed).values(revoked_at=revoked_at))
    return is_any


def _add(session: Session, head: CheckedHead) -> None:
    values = {
        "project_id": head.project_id,
        "pull_request": head.pull_request,
        "head_sha": head.head_sha,
        "login": "",
    }
    add_if_new(session, ForkPermissionRow, values)


def _of_pull_request(head: CheckedHead) -> tuple[ColumnElement[bool], ...]:
    return (
        col(ForkPermissionRow.project_id) == head.project_id,
        col(ForkPermissionRow.pull_request) == head.pull_request,
    )


def _of_head(head: CheckedHead) -> tuple[ColumnElement[bool], ...]:
    return (*_of_pull_request(head), col(ForkPermissionRow.head_sha) == head.head_sha)
