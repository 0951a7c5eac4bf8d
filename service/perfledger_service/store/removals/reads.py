"""Reads what retention removed of uploads."""

import msgspec
from sqlalchemy import ColumnElement, exists, func
from sqlmodel import Session, col, select

from perfledger_service.errors import RemovedError
from perfledger_service.store.removals.tables import EventRemovalRow, RemovalRow
from perfledger_service.store.tables import UploadRow
from perfledger_service.values.storage.retention import Removal, UploadPart, removal_words

_REMOVAL = msgspec.json.Decoder(Removal)


def removals_of(session: Session, upload_id: str) -> tuple[Removal, ...]:
    """Return what was removed of an upload."""
    rows = session.exec(
        select(RemovalRow)
        .where(col(RemovalRow.upload_id) == upload_id)
        .order_by(col(RemovalRow.part))
    )
    return tuple(row.to_value(_REMOVAL) for row in rows)


def lacks(part: UploadPart) -> ColumnElement[bool]:
    """Return whether a part of an upload was removed, in a query of uploads."""
    return exists().where(
        col(RemovalRow.upload_id) == col(UploadRow.id), col(RemovalRow.part) == part
    )


def bundle_removed(session: Session, sha256: str) -> RemovedError:
    """Return the error of a bundle that was removed."""
    row = session.exec(
        select(RemovalRow)
        .join(UploadRow)
        .where(col(UploadRow.bundle_sha256) == sha256, col(RemovalRow.part) == UploadPart.BUNDLE)
        .order_by(col(RemovalRow.removed_at).desc())
        .limit(1)
    ).one()
    return RemovedError(f"bundle {sha256[:12]} was {row.to_value(_REMOVAL).sentence}")


def check_event_kept(session: Session, project_id: int, event_id: int) -> None:
    """Raise RemovedError for an event of a project that was removed."""
    row = session.get(EventRemovalRow, event_id)
    if row is not None and row.project_id == project_id:
        msg = f"event {event_id} was {removal_words(row.removed_at, row.kept_days)}"
        raise RemovedError(msg)


def count_removed_observations(session: Session, *conditions: ColumnElement[bool]) -> int:
    """Return how many observations of uploads were removed."""
    total = session.exec(
        select(func.coalesce(func.sum(RemovalRow.rows), 0)).join(UploadRow).where(*conditions)
    ).one()
    return int(total)
