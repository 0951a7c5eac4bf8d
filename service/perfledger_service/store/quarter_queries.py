"""Queries the counts, speeds and changes that a quarter's review needs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, exists, func, select as columns
from sqlalchemy.orm import Mapped, QueryableAttribute, defer
from sqlmodel import Session, col, select

from perfledger.metrics import STEP_TIME
from perfledger.records import Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.page_queries import COUNTED_STATUSES, IS_BELIEVED
from perfledger_service.store.removals.reads import count_removed_observations, lacks
from perfledger_service.store.tables import (
    BranchCommitRow,
    EnvironmentRow,
    ObservationRow,
    ProjectRow,
    RevisionRow,
    SeriesRow,
    UploadRow,
    VerdictRow,
)
from perfledger_service.values.storage.retention import UploadPart

CHANGED_OUTCOMES = (Outcome.REGRESSED, Outcome.IMPROVED)
MAX_IN_QUERY = 1000  # uploads, and series; a database takes some ten thousand parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpeed:
    """Step time of a series' newest base commit that is known to be on the default branch."""

    repository: str
    workload: str
    machine_class: str
    machine: str  # the fingerprint's JSON
    bundle_sha256: str
    upload_id: str
    commit: str
    measured_at: datetime
    step_seconds: tuple[float, float, float]  # low, typical, high


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """A change of step time that a check of the default branch found in an attested commit."""

    repository: str
    workload: str
    machine: str
    upload_id: str
    commit: str
    subject: str
    committed_at: datetime  # when it was measured, if its runner did not say
    change: tuple[float, float, float]  # low, middle, high


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuarter:
    """All that a review reads of a quarter.

    `unattested` counts checks of commits that only their bundle claims to be of the default branch,
    and by runs of something else: neither a speed nor a change is taken from them.
    """

    checks: int
    observations: int
    of_pull_requests: int
    of_branches: int  # checks of attested commits without a pull request
    unattested: int
    speeds: tuple[StoredSpeed, ...]
    changes: tuple[StoredChange, ...]
    newest: Mapping[str, str]  # the SHA-256 of each repository's newest bundle, by repository


def stored_quarter(session: Session, *, start: datetime, end: datetime) -> StoredQuarter:
    """Return what was measured from `start` up to, but not including, `end`."""
    within = (
        col(UploadRow.measured_at) >= start,
        col(UploadRow.measured_at) < end,
        col(UploadRow.status).in_(COUNTED_STATUSES),
        ~IS_IMPORTED,
    )
    base, head = col(UploadRow.base_sha), col(UploadRow.head_sha)
    is_of_pull_request = col(UploadRow.pull_request).is_not(None)
    is_branch = ~is_of_pull_request & has_place(head) & IS_BELIEVED
    is_unattested = (
        ~IS_BELIEVED
        | (_is_claimed(base) & ~has_place(base))
        | (_is_claimed(head) & ~has_place(head))
    )
    uploads = select(func.count()).select_from(UploadRow).where(*within)
    observations = select(func.count()).select_from(ObservationRow).join(UploadRow).where(*within)
    return StoredQuarter(
        checks=session.exec(uploads).one(),
        observations=session.exec(observations).one()
        + count_removed_observations(session, *within),
        of_pull_requests=session.exec(uploads.where(is_of_pull_request)).one(),
        of_branches=session.exec(uploads.where(is_branch)).one(),
        unattested=session.exec(uploads.where(is_unattested)).one(),
        speeds=tuple(_speeds(session, (*within, IS_BELIEVED, ~lacks(UploadPart.BUNDLE)))),
        changes=tuple(_changes(session, (*within, is_branch, base != head))),  # no gate test
        newest=_newest(session, within),
    )


def has_place(sha: Mapped[str]) -> ColumnElement[bool]:
    """Return whether an upload's commit is known to be on the default branch."""
    return exists().where(
        col(BranchCommitRow.project_id) == col(UploadRow.project_id),
        col(BranchCommitRow.sha) == sha,
    )


def _is_claimed(sha: Mapped[str]) -> ColumnElement[bool]:
    """Return whether a bundle claims an upload's commit to be on the default branch."""
    return exists().where(
        col(RevisionRow.project_id) == col(UploadRow.project_id),
        col(RevisionRow.sha) == sha,
        col(RevisionRow.is_claimed),
    )


def _speeds(session: Session, within: tuple[ColumnElement[bool], ...]) -> Iterator[StoredSpeed]:
    """Yield each series' newest step time; uploads are ranked once for all series."""
    upload_ids = _uploads_on_branch(session, within)
    series = session.exec(
        select(SeriesRow)
        .where(col(SeriesRow.metric) == STEP_TIME.name)
        .order_by(col(SeriesRow.workload), col(SeriesRow.machine_class), col(SeriesRow.id))
    ).all()
    for start in range(0, len(series), MAX_IN_QUERY):
        yield from _speeds_of_series(session, series[start : start + MAX_IN_QUERY], upload_ids)


def _speeds_of_series(
    session: Session, series: Sequence[SeriesRow], upload_ids: Sequence[str]
) -> Iterator[StoredSpeed]:
    """Yield the step time of each series' first upload, in the order of the series.

    The newest upload has most series: reads begin with it alone and double, for the series left.
    """
    left = {one.id for one in series}
    newest: dict[int | None, ObservationRow] = {}
    start, count = 0, 1
    while left and start < len(upload_ids):
        newest |= _first_observations(session, left, upload_ids[start : start + count])
        left -= newest.keys()
        start, count = start + count, min(2 * count, MAX_IN_QUERY)
    uploads = _uploads_by_id(session, {one.upload_id for one in newest.values()})
    for one in series:
        if one.id not in newest:
            continue
        observed = newest[one.id]
        upload, machine, repository = uploads[observed.upload_id]
        yield StoredSpeed(
            repository=repository,
            workload=one.workload,
            machine_class=one.machine_class,
            machine=machine,
            bundle_sha256=upload.bundle_sha256,
            upload_id=upload.id,
            commit=upload.base_sha,
            measured_at=upload.measured_at,
            step_seconds=(observed.low, observed.center, observed.high),
        )


def _uploads_on_branch(session: Session, within: tuple[ColumnElement[bool], ...]) -> Sequence[str]:
    """Return the uploads whose base is on the default branch, each project's newest base first.

    Projects take turns, so that one with a long branch does not come before all the others.
    """
    newest_first = (
        col(BranchCommitRow.place).desc(),
        col(UploadRow.measured_at).desc(),
        col(UploadRow.id).desc(),
    )
    rank = func.row_number().over(partition_by=col(UploadRow.project_id), order_by=newest_first)
    return session.exec(
        select(UploadRow.id)
        .join(
            BranchCommitRow,
            (col(BranchCommitRow.project_id) == col(UploadRow.project_id))
            & (col(BranchCommitRow.sha) == col(UploadRow.base_sha)),
        )
        .where(*within)
        .order_by(rank)
    ).all()


def _first_observations(
    session: Session, series_ids: Collection[int | None], upload_ids: Sequence[str]
) -> dict[int | None, ObservationRow]:
    """Return what the first upload that has a series measured of its base commit."""
    rank = {upload_id: index for index, upload_id in enumerate(upload_ids)}
    rows = session.exec(
        select(ObservationRow)
        .options(defer(cast("QueryableAttribute[bytes]", ObservationRow.samples)))
        .where(
            col(ObservationRow.upload_id).in_(upload_ids),
            col(ObservationRow.series_id).in_(series_ids),
            col(ObservationRow.side) == Side.BASE,
        )
    )
    last_first = sorted(rows, key=lambda row: rank[row.upload_id], reverse=True)
    return {row.series_id: row for row in last_first}


def _uploads_by_id(
    session: Session, upload_ids: Collection[str]
) -> dict[str, tuple[UploadRow, str, str]]:
    """Return uploads with the JSON of their machines and their repositories."""
    rows = session.exec(
        select(UploadRow, EnvironmentRow.machine, ProjectRow.repository)
        .join(EnvironmentRow, col(EnvironmentRow.hash) == col(UploadRow.environment_hash))
        .join(ProjectRow, col(ProjectRow.id) == col(UploadRow.project_id))
        .where(col(UploadRow.id).in_(upload_ids))
    )
    return {upload.id: (upload, machine, repository) for upload, machine, repository in rows}


def _changes(
    session: Session, conditions: tuple[ColumnElement[bool], ...]
) -> Iterator[StoredChange]:
    rows = session.execute(  # pyright: ignore[reportDeprecated] - `exec` takes four columns at most
        columns(
            VerdictRow,
            UploadRow,
            col(ProjectRow.repository),
            col(EnvironmentRow.machine),
            col(RevisionRow.committed_at),
        )
        .join(UploadRow, col(UploadRow.id) == col(VerdictRow.upload_id))
        .join(ProjectRow, col(ProjectRow.id) == col(UploadRow.project_id))
        .join(EnvironmentRow, col(EnvironmentRow.hash) == col(UploadRow.environment_hash))
        .join(
            RevisionRow,
            (col(RevisionRow.project_id) == col(UploadRow.project_id))
            & (col(RevisionRow.sha) == col(UploadRow.head_sha)),
        )
        .where(
            col(VerdictRow.metric) == STEP_TIME.name,
            col(VerdictRow.outcome).in_(CHANGED_OUTCOMES),
            col(VerdictRow.is_warning).is_(False),
            *conditions,
        )
        .order_by(col(UploadRow.measured_at), col(UploadRow.id), col(VerdictRow.position))
    )
    for verdict, upload, repository, machine, committed_at in rows:
        if verdict.change is None or verdict.low is None or verdict.high is None:
            continue
        yield StoredChange(
            repository=repository,
            workload=verdict.workload,
            machine=machine,
            upload_id=upload.id,
            commit=upload.head_sha,
            subject=upload.head_subject,
            committed_at=committed_at or upload.measured_at,
            change=(verdict.low, verdict.change, verdict.high),
        )


def _newest(session: Session, within: tuple[ColumnElement[bool], ...]) -> dict[str, str]:
    """Return the SHA-256 of each repository's newest bundle."""
    believed = (*within, IS_BELIEVED, ~lacks(UploadPart.BUNDLE))
    newest = (
        select(UploadRow.project_id, func.max(UploadRow.measured_at).label("moment"))
        .where(*believed)
        .group_by(col(UploadRow.project_id))
        .subquery()
    )
    rows = session.exec(
        select(ProjectRow.repository, UploadRow.bundle_sha256)
        .join(UploadRow, col(UploadRow.project_id) == col(ProjectRow.id))
        .join(
            newest,
            (newest.c.project_id == col(UploadRow.project_id))
            & (newest.c.moment == col(UploadRow.measured_at)),
        )
        .where(*believed)
        .order_by(col(UploadRow.project_id), col(UploadRow.id))
    )
    return dict(rows.all())
