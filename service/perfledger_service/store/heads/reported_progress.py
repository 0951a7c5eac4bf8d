"""Stores what runners last said of the checks that they are measuring."""

from dataclasses import asdict
from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement, delete, func, update
from sqlmodel import Field, Session, col, select

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import ProjectRow, StoreRow
from perfledger_service.store.uploads import CheckedHead
from perfledger_service.values.upload_views import SILENCE, ReportedProgress


class ReportedProgressRow(StoreRow, table=True):
    """What was last heard of a head on a machine class, and when a post last showed it.

    `is_silence_posted`: a post says that nothing was heard since.
    """

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    pull_request: int = Field(primary_key=True)
    head_sha: str = Field(primary_key=True)
    machine_class: str = Field(primary_key=True)
    stage: str
    workload: str
    waiting: int
    pairs: int
    max_pairs: int
    seconds_left: float | None
    heard_at: datetime = Field(sa_type=UtcTime, index=True)
    posted_at: datetime | None = Field(default=None, sa_type=UtcTime)
    is_silence_posted: bool = False


_REPORTED_PROGRESS_DECODER = msgspec.json.Decoder(ReportedProgress)
_HEAD_DECODER = msgspec.json.Decoder(CheckedHead)


def put_progress(session: Session, head: CheckedHead, progress: ReportedProgress) -> None:
    """Store what was heard of a head in place of what its machine class said before.

    The caller holds the project's lock.
    """
    key = (head.project_id, head.pull_request, head.head_sha, progress.machine_class)
    earlier = session.get(ReportedProgressRow, key)
    columns = {name: value for name, value in asdict(progress).items() if name != "is_silent"}
    session.merge(
        ReportedProgressRow(
            project_id=head.project_id,
            pull_request=head.pull_request,
            head_sha=head.head_sha,
            posted_at=earlier.posted_at if earlier else None,
            **columns,
        )
    )
    session.flush()


def progress_of_head(
    session: Session, head: CheckedHead, *, now: datetime
) -> tuple[ReportedProgress, ...]:
    """Return what was last heard of a head on each machine class, the newest first."""
    return tuple(one for _, one in _progress_where(session, *_is_of(head), now=now))


def progress_of_pull_request(
    session: Session, project_id: int, pull_request: int, *, since: datetime, now: datetime
) -> tuple[tuple[str, ReportedProgress], ...]:
    """Return what was heard of a pull request since a time, each with its head commit."""
    return _progress_where(
        session,
        col(ReportedProgressRow.project_id) == project_id,
        col(ReportedProgressRow.pull_request) == pull_request,
        col(ReportedProgressRow.heard_at) > since,
        now=now,
    )


def claim_post(session: Session, head: CheckedHead, *, before: datetime, now: datetime) -> bool:
    """Return whether no post showed a head's progress since `before`; then the caller posts it.

    The caller holds the project's lock.
    """
    newest = session.exec(
        select(func.max(col(ReportedProgressRow.posted_at))).where(*_is_of(head))
    ).one()
    if newest is not None and newest > before:
        return False
    session.exec(update(ReportedProgressRow).where(*_is_of(head)).values(posted_at=now))
    return True


def count_heard_heads(session: Session, *, since: datetime) -> int:
    """Return the number of heads of all projects of which something was heard after a time."""
    heads = (
        select(
            ReportedProgressRow.project_id,
            ReportedProgressRow.pull_request,
            ReportedProgressRow.head_sha,
        )
        .where(col(ReportedProgressRow.heard_at) > since)
        .distinct()
    )
    return session.exec(select(func.count()).select_from(heads.subquery())).one()


def claim_silent_heads(session: Session, *, now: datetime) -> tuple[CheckedHead, ...]:
    """Return heads of which nothing more was heard; the caller posts that, once."""
    is_silent = (
        col(ReportedProgressRow.heard_at) <= now - SILENCE,
        col(ReportedProgressRow.is_silence_posted).is_(False),
    )
    rows = session.exec(
        select(ReportedProgressRow, ProjectRow.repository).join(ProjectRow).where(*is_silent)
    ).all()
    session.exec(update(ReportedProgressRow).where(*is_silent).values(is_silence_posted=True))
    return tuple(dict.fromkeys(row.to_value(_HEAD_DECODER, repository=name) for row, name in rows))


def remove_progress(session: Session, head: CheckedHead, machine_class: str) -> None:
    """Remove what was heard of a head on a machine class that has a result now."""
    session.exec(
        delete(ReportedProgressRow).where(
            *_is_of(head), col(ReportedProgressRow.machine_class) == machine_class
        )
    )


def remove_old_progress(session: Session, project_id: int, *, before: datetime) -> None:
    """Remove what a project's runners said before a time."""
    session.exec(
        delete(ReportedProgressRow).where(
            col(ReportedProgressRow.project_id) == project_id,
            col(ReportedProgressRow.heard_at) < before,
        )
    )


def _progress_where(
    session: Session, *conditions: ColumnElement[bool], now: datetime
) -> tuple[tuple[str, ReportedProgress], ...]:
    rows = session.exec(
        select(ReportedProgressRow)
        .where(*conditions)
        .order_by(col(ReportedProgressRow.heard_at).desc(), col(ReportedProgressRow.machine_class))
    )
    return tuple(
        (
            row.head_sha,
            row.to_value(_REPORTED_PROGRESS_DECODER, is_silent=row.heard_at <= now - SILENCE),
        )
        for row in rows
    )


def _is_of(head: CheckedHead) -> tuple[ColumnElement[bool], ...]:
    return (
        col(ReportedProgressRow.project_id) == head.project_id,
        col(ReportedProgressRow.pull_request) == head.pull_request,
        col(ReportedProgressRow.head_sha) == head.head_sha,
    )
