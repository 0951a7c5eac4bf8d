"""Queries how busy each workload kept its device in its newest check."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, func, select

from perfledger.metrics import CPU_ACTIVE, SM_ACTIVE
from perfledger.records import Side
from perfledger_service.store.observations import unpack
from perfledger_service.store.page_queries import COUNTED_STATUSES, IS_BELIEVED
from perfledger_service.store.removals.reads import lacks
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
    machine_class: str
    readings: tuple[float, ...]
    bundle_sha256: str
    upload_id: str
    created_at: datetime  # the bundle's: it may arrive long after


def stored_utilization(session: Session) -> tuple[StoredUtilization, ...]:
    """Return each workload's newest activity readings, by repository and workload.

    Commits that are on the default branch only by a bundle's claim do not count.
    """
    # Uploads are sorted once, not again for each series' observations.
    newest_first = (col(BranchCommitRow.place).desc(), col(UploadRow.measured_at).desc())
    uploads = (
        select(UploadRow.id, func.row_number().over(order_by=newest_first).label("age"))
        .join(
            BranchCommitRow,
            (col(BranchCommitRow.project_id) == col(UploadRow.project_id))
            & (col(BranchCommitRow.sha) == col(UploadRow.base_sha)),
        )
        .where(
            col(UploadRow.status).in_(COUNTED_STATUSES),
            IS_BELIEVED,
            ~lacks(UploadPart.BUNDLE),
            ~lacks(UploadPart.SAMPLES),
        )
        .cte()
        .prefix_with("materialized")
    )
    newest = (
        select(ObservationRow.series_id, func.min(uploads.c.age).label("age"))
        .join(uploads, uploads.c.id == col(ObservationRow.upload_id))
        .join(SeriesRow, col(SeriesRow.id) == col(ObservationRow.series_id))
        .where(
            col(SeriesRow.metric).in_((SM_ACTIVE.name, CPU_ACTIVE.name)),
            col(ObservationRow.side) == Side.BASE,
        )
        .group_by(col(ObservationRow.series_id))
        .subquery()
    )
    rows = session.exec(
        select(SeriesRow, ProjectRow.repository, ObservationRow.samples, UploadRow)
        .select_from(SeriesRow)
        .join(ProjectRow)
        .join(newest, newest.c.series_id == col(SeriesRow.id))
        .join(uploads, uploads.c.age == newest.c.age)
        .join(UploadRow, col(UploadRow.id) == uploads.c.id)
        .join(
            ObservationRow,
            (col(ObservationRow.series_id) == col(SeriesRow.id))
            & (col(ObservationRow.upload_id) == col(UploadRow.id)),
        )
        .where(col(ObservationRow.side) == Side.BASE)
        .order_by(
            col(ProjectRow.repository_key), col(SeriesRow.workload), col(SeriesRow.machine_class)
        )
    )
    return tuple(
        StoredUtilization(
            repository=repository,
            workload=series.workload,
            machine_class=series.machine_class,
            readings=unpack(samples, series.sample_type),
            bundle_sha256=upload.bundle_sha256,
            upload_id=upload.id,
            created_at=upload.measured_at,
        )
        for series, repository, samples, upload in rows
    )
