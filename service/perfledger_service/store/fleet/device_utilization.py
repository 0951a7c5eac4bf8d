"""Queries how busy each workload kept its device in its newest check."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from perfledger.metrics import CPU_ACTIVE, SM_ACTIVE
from perfledger.records import Side
from perfledger_service.store.observations import unpack
from perfledger_service.store.page_queries import COUNTED_STATUSES, IS_BELIEVED
from perfledger_service.store.retention.removals import lacks
from perfledger_service.store.tables import (
    BranchCommitRow,
    ObservationRow,
    ProjectRow,
    SeriesRow,
    UploadRow,
)
from perfledger_service.values.storage.retention import UploadPart


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUtilization:
    """Activity readings of a workload's newest base commit that is known to be on the branch."""

    repository: str
    workload: str
    device_class: str
    readings: tuple[float, ...]
    bundle_sha256: str
    upload_id: str
    created_at: datetime  # the bundle's: it may arrive long after


def stored_utilization(session: Session) -> tuple[StoredUtilization, ...]:
    """Return each workload's newest activity readings, by repository and workload.

    Commits that only bundles claim to be of the default branch do not count.
    """
    series_rows = session.exec(
        select(SeriesRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(col(SeriesRow.metric).in_((SM_ACTIVE.name, CPU_ACTIVE.name)))
        .order_by(
            col(ProjectRow.repository_key), col(SeriesRow.workload), col(SeriesRow.device_class)
        )
    ).all()
    return tuple(
        utilization
        for series, repository in series_rows
        for utilization in _newest(session, series, repository)
    )


def _newest(session: Session, series: SeriesRow, repository: str) -> Iterator[StoredUtilization]:
    newest = session.exec(
        select(ObservationRow, UploadRow)
        .join(UploadRow, col(UploadRow.id) == col(ObservationRow.upload_id))
        .join(
            BranchCommitRow,
            (col(BranchCommitRow.project_id) == col(UploadRow.project_id))
            & (col(BranchCommitRow.sha) == col(UploadRow.base_sha)),
        )
        .where(
            col(ObservationRow.series_id) == series.id,
            col(ObservationRow.side) == Side.BASE,
            col(UploadRow.status).in_(COUNTED_STATUSES),
            IS_BELIEVED,
            ~lacks(UploadPart.BUNDLE),
            ~lacks(UploadPart.SAMPLES),
        )
        .order_by(col(BranchCommitRow.place).desc(), col(UploadRow.measured_at).desc())
        .limit(1)
    ).first()
    if newest is not None:
        observed, upload = newest
        yield StoredUtilization(
            repository=repository,
            workload=series.workload,
            device_class=series.device_class,
            readings=unpack(observed.samples, series.sample_type),
            bundle_sha256=upload.bundle_sha256,
            upload_id=upload.id,
            created_at=upload.measured_at,
        )
