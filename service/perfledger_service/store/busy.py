"""Stored rows in, how busy each workload kept its device in its newest check out."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from perfledger.metrics import CPU_ACTIVE, SM_ACTIVE
from perfledger.records import Side
from perfledger_service.store.observations import unpack
from perfledger_service.store.overview import COUNTED
from perfledger_service.store.tables import ObservationRow, ProjectRow, SeriesRow, UploadRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBusy:
    """The newest readings of a workload's base, which is a commit of the default branch."""

    repository: str
    workload: str
    device_class: str
    readings: tuple[float, ...]
    bundle_sha256: str
    upload_id: str
    created_at: datetime


def stored_busy(session: Session) -> tuple[StoredBusy, ...]:
    """Return each workload's newest readings of activity, by repository and workload."""
    series = session.exec(
        select(SeriesRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(col(SeriesRow.metric).in_((SM_ACTIVE.name, CPU_ACTIVE.name)))
        .order_by(
            col(ProjectRow.repository_key), col(SeriesRow.workload), col(SeriesRow.device_class)
        )
    ).all()
    return tuple(found for one, repository in series for found in _newest(session, one, repository))


def _newest(session: Session, series: SeriesRow, repository: str) -> Iterator[StoredBusy]:
    found = session.exec(
        select(ObservationRow, UploadRow)
        .join(UploadRow, col(UploadRow.id) == col(ObservationRow.upload_id))
        .where(
            col(ObservationRow.series_id) == series.id,
            col(ObservationRow.side) == Side.BASE,
            col(UploadRow.status).in_(COUNTED),
        )
        .order_by(col(ObservationRow.pos).desc(), col(UploadRow.created_at).desc())
        .limit(1)
    ).first()
    if found is not None:
        observed, upload = found
        yield StoredBusy(
            repository=repository,
            workload=series.workload,
            device_class=series.device_class,
            readings=unpack(observed.samples, series.sample_type),
            bundle_sha256=upload.bundle_sha256,
            upload_id=upload.id,
            created_at=upload.created_at,
        )
