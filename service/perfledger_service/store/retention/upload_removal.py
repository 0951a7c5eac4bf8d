"""Selects and removes parts of uploads: bundles, raw samples and results."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Integer, delete, func, update
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from perfledger_service.store.default_branch import (
    MAX_COMMITS,
    searched_commits,
    unplaced_commits,
)
from perfledger_service.store.pair_spreads import MAX_UPLOADS
from perfledger_service.store.removals.reads import lacks
from perfledger_service.store.removals.tables import RemovalRow
from perfledger_service.store.tables import (
    BundleRow,
    ObservationRow,
    PairSpreadRow,
    SeriesRow,
    UploadRow,
    VerdictRow,
    add_if_new,
)
from perfledger_service.values.storage.retention import RetentionClass, UploadPart
from perfledger_service.values.upload_views import UploadSender, UploadStatus

# Twice what a search and a prior read: where the branch loses commits, older ones move up.
KEPT_COMMITS = 2 * MAX_COMMITS
KEPT_SPREADS = 2 * MAX_UPLOADS
PART_OF_CLASS = {
    RetentionClass.BUNDLES: UploadPart.BUNDLE,
    RetentionClass.SAMPLES: UploadPart.SAMPLES,
    RetentionClass.PULL_REQUESTS: UploadPart.RESULTS,
    RetentionClass.BRANCH: UploadPart.RESULTS,
}
# Nothing is attempted again with uploads of these, unless a time for it is stored.
_FINAL_STATUSES = (UploadStatus.JUDGED, UploadStatus.POSTED, UploadStatus.REFUSED)
_IS_FINAL = (col(UploadRow.status).in_(_FINAL_STATUSES), col(UploadRow.retry_at).is_(None))
_IS_OTHER_RUN = col(UploadRow.sender) == UploadSender.OTHER_RUN
_IS_OF_PULL_REQUEST = col(UploadRow.pull_request).is_not(None) | _IS_OTHER_RUN


def removable_uploads(
    session: Session,
    project_id: int,
    kind: RetentionClass,
    *,
    before: datetime,
    needed: Collection[str],
) -> tuple[str, ...]:
    """Return the uploads of a project whose part of a class is no longer kept, oldest first.

    Results stay while a commit of theirs is in the part of the history that is searched, and until
    it is known whether their commits are on the branch.
    """
    part = PART_OF_CLASS[kind]
    rows = session.exec(
        select(UploadRow.id, UploadRow.base_sha, UploadRow.head_sha, UploadRow.sender)
        .where(
            col(UploadRow.project_id) == project_id,
            col(UploadRow.created_at) < before,
            *_IS_FINAL,
            ~lacks(part),
            is_of_class(kind),
        )
        .order_by(col(UploadRow.created_at), col(UploadRow.id))
    ).all()
    if part is not UploadPart.RESULTS:
        return tuple(row[0] for row in rows if row[0] not in needed)
    searched = searched_commits(session, project_id, most=KEPT_COMMITS)
    unattested = set(unplaced_commits(session, project_id))
    return tuple(
        upload_id
        for upload_id, base_sha, head_sha, sender in rows
        if upload_id not in needed
        and searched.isdisjoint((base_sha, head_sha))
        and (sender == UploadSender.OTHER_RUN or unattested.isdisjoint((base_sha, head_sha)))
    )


def final_uploads(session: Session, upload_ids: Sequence[str]) -> tuple[str, ...]:
    """Return those of some uploads with which nothing is attempted again."""
    return tuple(
        session.exec(select(UploadRow.id).where(col(UploadRow.id).in_(upload_ids), *_IS_FINAL))
    )


def is_of_class(kind: RetentionClass) -> ColumnElement[bool]:
    """Return whether an upload has a part of a class, in a query of uploads."""
    match kind:
        case RetentionClass.PULL_REQUESTS:
            return _IS_OF_PULL_REQUEST
        case RetentionClass.BRANCH:
            return ~_IS_OF_PULL_REQUEST
        case _:
            return col(UploadRow.id).is_not(None)


def removers_of(kind: RetentionClass) -> tuple[RetentionClass, ...]:
    """Return the classes whose periods remove a class: results take everything else of them."""
    if PART_OF_CLASS.get(kind, UploadPart.RESULTS) is UploadPart.RESULTS:
        return (kind,)
    return (kind, RetentionClass.PULL_REQUESTS, RetentionClass.BRANCH)


def remove_part(
    session: Session,
    part: UploadPart,
    upload_ids: Sequence[str],
    *,
    removed_at: datetime,
    kept_days: int,
) -> None:
    """Remove a part of uploads, and record it; with the results goes everything else of them.

    The caller holds the project's lock.
    """
    observations = _count_observations(session, upload_ids)
    parts = tuple(UploadPart) if part is UploadPart.RESULTS else (part,)
    shas = _lock_bundles(session, upload_ids)
    for upload_id in upload_ids:
        for one in parts:
            rows = observations.get(upload_id, 0) if one is UploadPart.RESULTS else 0
            values = {"removed_at": removed_at, "kept_days": kept_days, "rows": rows}
            add_if_new(session, RemovalRow, {"upload_id": upload_id, "part": one, **values})
    if UploadPart.BUNDLE in parts:
        _empty_bundles(session, shas)
    if part is UploadPart.RESULTS:
        session.exec(delete(VerdictRow).where(col(VerdictRow.upload_id).in_(upload_ids)))
        session.exec(delete(ObservationRow).where(col(ObservationRow.upload_id).in_(upload_ids)))
    elif part is UploadPart.SAMPLES:
        session.exec(
            update(ObservationRow)
            .where(col(ObservationRow.upload_id).in_(upload_ids))
            .values(samples=b"")
        )


def superseded_spreads(session: Session, project_id: int, *, most: int) -> tuple[int, ...]:
    """Return pair differences that no prior reads any more, of uploads without results."""
    ranked = (
        select(
            PairSpreadRow.id,
            PairSpreadRow.upload_id,
            func.row_number()
            .over(partition_by=col(PairSpreadRow.series_id), order_by=col(PairSpreadRow.id).desc())
            .label("rank"),
        )
        .join(SeriesRow)
        .where(col(SeriesRow.project_id) == project_id)
        .subquery()
    )
    ids = session.exec(
        select(func.cast(ranked.c.id, Integer))
        .join(
            RemovalRow,
            (col(RemovalRow.upload_id) == ranked.c.upload_id)
            & (col(RemovalRow.part) == UploadPart.RESULTS),
        )
        .where(ranked.c.rank > KEPT_SPREADS)
        .limit(most)
    )
    return tuple(ids)


def remove_spreads(session: Session, ids: Sequence[int]) -> None:
    """Remove pair differences."""
    session.exec(delete(PairSpreadRow).where(col(PairSpreadRow.id).in_(ids)))


def _count_observations(session: Session, upload_ids: Sequence[str]) -> dict[str, int]:
    rows = session.exec(
        select(ObservationRow.upload_id, func.count())
        .where(col(ObservationRow.upload_id).in_(upload_ids))
        .group_by(col(ObservationRow.upload_id))
    )
    return dict(rows.all())


def _lock_bundles(session: Session, upload_ids: Sequence[str]) -> Sequence[str]:
    """Lock the uploads' bundles, which another project may be uploading again."""
    of_uploads = select(UploadRow.bundle_sha256).where(col(UploadRow.id).in_(upload_ids))
    return session.exec(
        select(BundleRow.sha256)
        .where(col(BundleRow.sha256).in_(of_uploads))
        .order_by(col(BundleRow.sha256))
        .with_for_update()
    ).all()


def _empty_bundles(session: Session, shas: Sequence[str]) -> None:
    """Remove the content of bundles that no upload keeps."""
    holder = aliased(UploadRow)
    is_kept = (
        select(holder.id)
        .where(
            col(holder.bundle_sha256) == col(BundleRow.sha256),
            ~select(RemovalRow.upload_id)
            .where(
                col(RemovalRow.upload_id) == col(holder.id),
                col(RemovalRow.part) == UploadPart.BUNDLE,
            )
            .exists(),
        )
        .exists()
    )
    session.exec(
        update(BundleRow).where(col(BundleRow.sha256).in_(shas), ~is_kept).values(content=b"")
    )
