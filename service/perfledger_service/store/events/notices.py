"""Stores where a project's notices go, and which of them were sent."""

from collections.abc import Collection
from datetime import datetime

import msgspec
from sqlalchemy import delete, update
from sqlmodel import Session, col, func, select

from perfledger_service.errors import ConflictError, NotFoundError
from perfledger_service.store.events.notice_tables import NoticeRow, NoticeTargetRow
from perfledger_service.store.tables import add_if_new
from perfledger_service.values.notices.notice import (
    Notice,
    NoticeChannel,
    NoticeStatus,
    NoticeTarget,
)

MAX_TARGETS = 20  # per project
MAX_LISTED = 200

_TARGET_DECODER = msgspec.json.Decoder(NoticeTarget)
_NOTICE_DECODER = msgspec.json.Decoder(Notice)


def add_target(
    session: Session, project_id: int, target: NoticeTarget, *, now: datetime
) -> NoticeTarget:
    """Store a target, or update an existing one; raise ConflictError for too many.

    The caller holds the project's lock.
    """
    row = _target_row(session, project_id, target.channel, target.address)
    if row is None and len(targets_of(session, project_id)) >= MAX_TARGETS:
        msg = f"a project's notices go to at most {MAX_TARGETS} targets: remove one"
        raise ConflictError(msg)
    row = row or NoticeTargetRow(
        project_id=project_id,
        channel=target.channel,
        address=target.address,
        hourly=target.hourly,
        created_at=now,
    )
    row.is_early, row.is_weekly, row.hourly = target.is_early, target.is_weekly, target.hourly
    session.add(row)
    session.flush()
    return row.to_value(_TARGET_DECODER)


def remove_target(session: Session, project_id: int, channel: NoticeChannel, address: str) -> None:
    """Remove a target with its notices; raise NotFoundError for none."""
    row = _target_row(session, project_id, channel, address)
    if row is None:
        msg = f"notices have no target {channel} {address}".rstrip()
        raise NotFoundError(msg)
    session.exec(delete(NoticeRow).where(col(NoticeRow.target_id) == row.id))
    session.delete(row)
    session.flush()


def targets_of(session: Session, project_id: int) -> tuple[NoticeTarget, ...]:
    """Return where a project's notices go, the oldest first."""
    rows = session.exec(
        select(NoticeTargetRow)
        .where(col(NoticeTargetRow.project_id) == project_id)
        .order_by(col(NoticeTargetRow.id))
    )
    return tuple(row.to_value(_TARGET_DECODER) for row in rows)


def target_by_id(session: Session, target_id: int) -> NoticeTarget:
    """Return a target."""
    row = session.exec(select(NoticeTargetRow).where(col(NoticeTargetRow.id) == target_id)).one()
    return row.to_value(_TARGET_DECODER)


def projects_with_targets(session: Session) -> tuple[int, ...]:
    """Return the projects that have targets of notices."""
    rows = session.exec(select(NoticeTargetRow.project_id).distinct())
    return tuple(sorted(rows))


def add_notice(session: Session, notice: Notice) -> None:
    """Store a new notice, once: nothing changes if its target has one with its key."""
    values = {name: getattr(notice, name) for name in Notice.__dataclass_fields__ if name != "id"}
    add_if_new(session, NoticeRow, values)


def update_notice(session: Session, notice: Notice, **changes: object) -> None:
    """Store a notice's changed fields."""
    session.exec(update(NoticeRow).where(col(NoticeRow.id) == notice.id).values(**changes))


def notice_by_id(session: Session, notice_id: int) -> Notice | None:
    """Return a notice, None if it is gone with its target."""
    row = session.get(NoticeRow, notice_id)
    return None if row is None else row.to_value(_NOTICE_DECODER)


def notices_of_events(
    session: Session, target_id: int, event_ids: Collection[int]
) -> dict[int, Notice]:
    """Return a target's notices of some events, by the event's number."""
    rows = session.exec(
        select(NoticeRow).where(
            col(NoticeRow.target_id) == target_id, col(NoticeRow.event_id).in_(event_ids)
        )
    )
    notices = (row.to_value(_NOTICE_DECODER) for row in rows)
    return {one.event_id: one for one in notices if one.event_id is not None}


def held_notices(session: Session, target_id: int) -> tuple[Notice, ...]:
    """Return a target's held notices, oldest first."""
    rows = session.exec(
        select(NoticeRow)
        .where(col(NoticeRow.target_id) == target_id, col(NoticeRow.status) == NoticeStatus.HELD)
        .order_by(col(NoticeRow.id))
    )
    return tuple(row.to_value(_NOTICE_DECODER) for row in rows)


def count_begun(session: Session, target_id: int, *, prefix: str, since: datetime) -> int:
    """Return how many notices with a kind of key were queued for a target since a moment.

    Held, counted and skipped ones are not included.
    """
    sent_states = (NoticeStatus.QUEUED, NoticeStatus.SENT, NoticeStatus.FAILED)
    count = select(func.count()).where(
        col(NoticeRow.target_id) == target_id,
        col(NoticeRow.key).startswith(prefix, autoescape=True),
        col(NoticeRow.status).in_(sent_states),
        col(NoticeRow.queued_at) > since,
    )
    return session.exec(count).one()


def last_of_kind(session: Session, target_id: int, *, prefix: str) -> Notice | None:
    """Return a target's newest notice with a kind of key, None if there is none."""
    row = session.exec(
        select(NoticeRow)
        .where(
            col(NoticeRow.target_id) == target_id,
            col(NoticeRow.key).startswith(prefix, autoescape=True),
        )
        .order_by(col(NoticeRow.id).desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else row.to_value(_NOTICE_DECODER)


def last_reference(session: Session, target_id: int, *, prefix: str) -> str:
    """Return the reference of a target's newest notice with a kind of key, "" if none was sent."""
    reference = (
        select(NoticeRow.reference)
        .where(
            col(NoticeRow.target_id) == target_id,
            col(NoticeRow.key).startswith(prefix, autoescape=True),
            col(NoticeRow.reference) != "",
        )
        .order_by(col(NoticeRow.id).desc())
        .limit(1)
    )
    return session.exec(reference).one_or_none() or ""


def notices_of(session: Session, project_id: int) -> tuple[Notice, ...]:
    """Return a project's newest notices, newest first, without skipped ones."""
    rows = session.exec(
        select(NoticeRow)
        .where(
            col(NoticeRow.project_id) == project_id,
            col(NoticeRow.status) != NoticeStatus.SKIPPED,
        )
        .order_by(col(NoticeRow.id).desc())
        .limit(MAX_LISTED)
    )
    return tuple(row.to_value(_NOTICE_DECODER) for row in rows)


def queued_notices(session: Session) -> tuple[Notice, ...]:
    """Return all notices that have to be sent, oldest first."""
    rows = session.exec(
        select(NoticeRow)
        .where(col(NoticeRow.status) == NoticeStatus.QUEUED)
        .order_by(col(NoticeRow.id))
    )
    return tuple(row.to_value(_NOTICE_DECODER) for row in rows)


def _target_row(
    session: Session, project_id: int, channel: NoticeChannel, address: str
) -> NoticeTargetRow | None:
    return session.exec(
        select(NoticeTargetRow).where(
            col(NoticeTargetRow.project_id) == project_id,
            col(NoticeTargetRow.channel) == channel,
            col(NoticeTargetRow.address) == address,
        )
    ).first()
