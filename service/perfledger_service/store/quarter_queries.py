"""Queries the counts, speeds and changes that a quarter's review needs."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import ColumnElement, func
from sqlalchemy.orm import QueryableAttribute, defer
from sqlmodel import Session, col, select

from perfledger.metrics import STEP_TIME
from perfledger.records import Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.store.page_queries import COUNTED_STATUSES
from perfledger_service.store.tables import (
    EnvironmentRow,
    ObservationRow,
    SeriesRow,
    UploadRow,
    VerdictRow,
)

CHANGED_OUTCOMES = (Outcome.REGRESSED, Outcome.IMPROVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpeed:
    """Newest step time of a series on a base commit, which is on the default branch."""

    workload: str
    device_class: str
    machine: str  # the fingerprint's JSON
    bundle_sha256: str
    upload_id: str
    commit: str
    created_at: datetime
    step_seconds: tuple[float, float, float]  # low, typical, high


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """A change of step time that a check without a pull request found."""

    workload: str
    machine: str
    bundle_sha256: str
    upload_id: str
    commit: str
    subject: str
    created_at: datetime
    change: tuple[float, float, float]  # low, middle, high


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuarter:
    """All that a review reads of a quarter."""

    observations: int
    of_pull_requests: int  # checks
    of_branches: int
    speeds: tuple[StoredSpeed, ...]
    changes: tuple[StoredChange, ...]
    newest: tuple[str, ...]  # the SHA-256 of each repository's newest bundle


def stored_quarter(session: Session, *, start: datetime, end: datetime) -> StoredQuarter:
    """Return what was uploaded from `start` up to, but not including, `end`."""
    within = (
        col(UploadRow.created_at) >= start,
        col(UploadRow.created_at) < end,
        col(UploadRow.status).in_(COUNTED_STATUSES),
    )
    is_branch = col(UploadRow.pull_request).is_(None)
    is_other = col(UploadRow.base_sha) != col(UploadRow.head_sha)  # not a test of the gate
    uploads = select(func.count()).select_from(UploadRow).where(*within)
    observations = select(func.count()).select_from(ObservationRow).join(UploadRow).where(*within)
    return StoredQuarter(
        observations=session.exec(observations).one(),
        of_pull_requests=session.exec(uploads.where(~is_branch)).one(),
        of_branches=session.exec(uploads.where(is_branch)).one(),
        speeds=tuple(_speeds(session, within)),
        changes=tuple(_changes(session, (*within, is_branch, is_other))),
        newest=tuple(_newest(session, within)),
    )


def _speeds(session: Session, within: tuple[ColumnElement[bool], ...]) -> Iterator[StoredSpeed]:
    """Yield each series' newest step time, with one primary-key lookup each."""
    series = session.exec(
        select(SeriesRow)
        .where(col(SeriesRow.metric) == STEP_TIME.name)
        .order_by(col(SeriesRow.workload), col(SeriesRow.device_class), col(SeriesRow.id))
    ).all()
    for one in series:
        newest = session.exec(
            select(ObservationRow, UploadRow, EnvironmentRow)
            .options(defer(cast("QueryableAttribute[bytes]", ObservationRow.samples)))
            .join(UploadRow, col(UploadRow.id) == col(ObservationRow.upload_id))
            .join(EnvironmentRow, col(EnvironmentRow.hash) == col(UploadRow.environment_hash))
            .where(
                col(ObservationRow.series_id) == one.id,
                col(ObservationRow.side) == Side.BASE,
                *within,
            )
            .order_by(col(ObservationRow.position).desc(), col(UploadRow.created_at).desc())
            .limit(1)
        ).first()
        if newest is not None:
            observed, upload, env = newest
            yield StoredSpeed(
                workload=one.workload,
                device_class=one.device_class,
                machine=env.machine,
                bundle_sha256=upload.bundle_sha256,
                upload_id=upload.id,
                commit=upload.base_sha,
                created_at=upload.created_at,
                step_seconds=(observed.low, observed.center, observed.high),
            )


def _changes(
    session: Session, conditions: tuple[ColumnElement[bool], ...]
) -> Iterator[StoredChange]:
    rows = session.exec(
        select(VerdictRow, UploadRow, EnvironmentRow.machine)
        .join(UploadRow, col(UploadRow.id) == col(VerdictRow.upload_id))
        .join(EnvironmentRow, col(EnvironmentRow.hash) == col(UploadRow.environment_hash))
        .where(
            col(VerdictRow.metric) == STEP_TIME.name,
            col(VerdictRow.outcome).in_(CHANGED_OUTCOMES),
            col(VerdictRow.is_warning).is_(False),
            *conditions,
        )
        .order_by(col(UploadRow.created_at), col(VerdictRow.position))
    )
    for verdict, upload, machine in rows:
        if verdict.change is None or verdict.low is None or verdict.high is None:
            continue
        yield StoredChange(
            workload=verdict.workload,
            machine=machine,
            bundle_sha256=upload.bundle_sha256,
            upload_id=upload.id,
            commit=upload.head_sha,
            subject=upload.head_subject,
            created_at=upload.created_at,
            change=(verdict.low, verdict.change, verdict.high),
        )


def _newest(session: Session, within: tuple[ColumnElement[bool], ...]) -> Iterator[str]:
    newest = (
        select(UploadRow.project_id, func.max(UploadRow.created_at).label("moment"))
        .where(*within)
        .group_by(col(UploadRow.project_id))
        .subquery()
    )
    rows = session.exec(
        select(UploadRow.project_id, UploadRow.bundle_sha256)
        .join(
            newest,
            (newest.c.project_id == col(UploadRow.project_id))
            & (newest.c.moment == col(UploadRow.created_at)),
        )
        .where(*within)
        .order_by(col(UploadRow.project_id), col(UploadRow.id))
    )
    yield from dict(rows.all()).values()
