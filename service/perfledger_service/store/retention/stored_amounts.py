"""Measures how much of each class is stored, of everything or of some uploads or records."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, exists, func, select as columns, true
from sqlalchemy.orm import Mapped
from sqlmodel import Session, col, select

from perfledger_service.store.devices.tables import CanaryRunRow
from perfledger_service.store.events.tables import TrackedEventRow
from perfledger_service.store.jobs.tables import RunnerJobRow
from perfledger_service.store.people.tables import AuditEntryRow
from perfledger_service.store.removals.reads import lacks
from perfledger_service.store.retention.upload_removal import PART_OF_CLASS, is_of_class
from perfledger_service.store.tables import BundleRow, ObservationRow, UploadRow, VerdictRow
from perfledger_service.values.storage.retention import RetentionClass, StoredAmount, UploadPart

# About what a row takes beside its content, in its table and its indexes.
ROW_BYTES = 150
RATES_BYTES = 20 * ROW_BYTES + 1000  # about what the 20 rates of a run of canaries take
IDS_AT_A_TIME = 500  # SQLite takes 32,766 in a statement, versions before 3.32 take 999


def stored_amount(
    session: Session, kind: RetentionClass, *, before: datetime | None = None
) -> StoredAmount:
    """Return how much of a class is stored, of all or of what arrived before a time."""
    return _amount(session, kind, true() if before is None else _arrival(kind) < before)


def amount_of(session: Session, kind: RetentionClass, ids: Sequence[int | str]) -> StoredAmount:
    """Return how much of a class some uploads have, or some records are, by their ids.

    A bundle that other uploads hold, too, is not among them.
    """
    if kind is RetentionClass.BUNDLES:
        return _bundles_of(session, ids)
    column = _id_column(kind)
    total = StoredAmount()
    for batch in _batches(ids):
        amount = _amount(session, kind, column.in_(batch))
        total = StoredAmount(
            rows=total.rows + amount.rows,
            bytes=total.bytes + amount.bytes,
            oldest=min(filter(None, (total.oldest, amount.oldest)), default=None),
        )
    return total


def _id_column(kind: RetentionClass) -> Mapped[int | None] | Mapped[str]:
    match kind:
        case RetentionClass.EVENTS:
            return col(TrackedEventRow.id)
        case RetentionClass.JOBS:
            return col(RunnerJobRow.id)
        case RetentionClass.AUDIT:
            return col(AuditEntryRow.id)
        case RetentionClass.CANARIES:
            return col(CanaryRunRow.id)
        case _:
            return col(UploadRow.id)


def _arrival(kind: RetentionClass) -> Mapped[datetime]:
    match kind:
        case RetentionClass.EVENTS:
            return col(TrackedEventRow.changed_at)
        case RetentionClass.JOBS:
            return col(RunnerJobRow.created_at)
        case RetentionClass.AUDIT:
            return col(AuditEntryRow.noted_at)
        case RetentionClass.CANARIES:
            return col(CanaryRunRow.stored_at)
        case _:
            return col(UploadRow.created_at)


def _amount(session: Session, kind: RetentionClass, chosen: ColumnElement[bool]) -> StoredAmount:
    match kind:
        case RetentionClass.EVENTS:
            size = func.length(TrackedEventRow.content)
            return _records(session, size, _arrival(kind), chosen)
        case RetentionClass.JOBS:
            size = func.length(RunnerJobRow.workloads)
            return _records(session, size, _arrival(kind), chosen)
        case RetentionClass.AUDIT:
            size = func.length(AuditEntryRow.detail)
            return _records(session, size, _arrival(kind), chosen)
        case RetentionClass.CANARIES:
            words = func.length(CanaryRunRow.reason) + func.length(CanaryRunRow.epoch)
            return _records(session, words + RATES_BYTES, _arrival(kind), chosen)
        case RetentionClass.BUNDLES:
            return _bundles(session, chosen)
        case _:
            return _results(session, kind, chosen)


def _records(
    session: Session,
    size: ColumnElement[int],
    moment: Mapped[datetime],
    chosen: ColumnElement[bool],
) -> StoredAmount:
    rows, content, oldest = (
        session.connection()
        .execute(columns(func.count(), func.sum(size), func.min(moment)).where(chosen))
        .one()
    )
    return StoredAmount(rows=rows, bytes=int(content or 0) + rows * ROW_BYTES, oldest=oldest)


def _bundles(session: Session, chosen: ColumnElement[bool]) -> StoredAmount:
    """Return the amount of the bundles that uploads hold and no others do."""
    is_there = ~lacks(UploadPart.BUNDLE)
    is_holder = (col(UploadRow.bundle_sha256) == col(BundleRow.sha256), is_there)
    is_held = (exists().where(*is_holder, chosen), ~exists().where(*is_holder, ~chosen))
    connection = session.connection()
    content = func.sum(func.length(BundleRow.content))
    rows, size = connection.execute(columns(func.count(), content).where(*is_held)).one()
    oldest = connection.execute(
        columns(func.min(UploadRow.created_at)).where(chosen, is_there)
    ).scalar_one()
    return StoredAmount(rows=rows, bytes=int(size or 0), oldest=oldest)


def _bundles_of(session: Session, upload_ids: Sequence[int | str]) -> StoredAmount:
    """Return the amount of the bundles that uploads hold and no others do, by the uploads' ids."""
    arrivals: dict[str, list[datetime]] = {}
    of_upload = select(UploadRow.bundle_sha256, UploadRow.created_at).where(
        ~lacks(UploadPart.BUNDLE)
    )
    for ids in _batches(upload_ids):
        for sha256, arrival in session.exec(of_upload.where(col(UploadRow.id).in_(ids))):
            arrivals.setdefault(sha256, []).append(arrival)
    sizes: dict[str, int] = {}
    for shas in _batches(tuple(arrivals)):
        holders = session.exec(
            select(BundleRow.sha256, func.length(BundleRow.content), func.count())
            .join(UploadRow)
            .where(col(BundleRow.sha256).in_(shas), ~lacks(UploadPart.BUNDLE))
            .group_by(col(BundleRow.sha256))
        )
        sizes |= {sha: size for sha, size, count in holders if count == len(arrivals[sha])}
    oldest = min((moment for sha in sizes for moment in arrivals[sha]), default=None)
    return StoredAmount(rows=len(sizes), bytes=sum(sizes.values()), oldest=oldest)


def _batches(ids: Sequence[int | str]) -> Iterator[Sequence[int | str]]:
    for start in range(0, len(ids), IDS_AT_A_TIME):
        yield ids[start : start + IDS_AT_A_TIME]


def _results(session: Session, kind: RetentionClass, chosen: ColumnElement[bool]) -> StoredAmount:
    """Return the amount of raw samples, or of results with their verdicts."""
    part = PART_OF_CLASS[kind]
    is_there = (chosen, is_of_class(kind), ~lacks(part))
    connection = session.connection()
    rows, content = connection.execute(
        columns(func.count(), func.sum(func.length(ObservationRow.samples)))
        .select_from(ObservationRow)
        .join(UploadRow)
        .where(*is_there)
    ).one()
    size = int(content or 0)
    if part is UploadPart.RESULTS:
        verdicts, reasons = connection.execute(
            columns(func.count(), func.sum(func.length(VerdictRow.reason)))
            .select_from(VerdictRow)
            .join(UploadRow)
            .where(*is_there)
        ).one()
        rows += verdicts
        size += int(reasons or 0) + rows * ROW_BYTES
    oldest = connection.execute(
        columns(func.min(UploadRow.created_at)).where(*is_there)
    ).scalar_one()
    return StoredAmount(rows=rows, bytes=size, oldest=oldest)
