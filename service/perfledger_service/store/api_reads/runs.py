"""Reads a project's runs and their verdicts, the newest first."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, tuple_
from sqlmodel import Session, col, func, select
from sqlmodel.sql.expression import Select

from perfledger.metrics import WorseDirection
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.errors import NotFoundError
from perfledger_service.store.api_reads.keysets import ROWS_IN_MEMORY, page_of
from perfledger_service.store.api_reads.values import Key, KeysetPage, RunRead, VerdictRead
from perfledger_service.store.devices.quarantines import (
    quarantines_of_upload,
    quarantines_of_uploads,
)
from perfledger_service.store.tables import EnvironmentRow, UploadRow, VerdictRow
from perfledger_service.store.uploads import verdict_of
from perfledger_service.values.service_views.devices import Quarantine
from perfledger_service.values.upload_views import UploadSender, UploadStatus

_NEWEST_FIRST = (col(UploadRow.created_at).desc(), col(UploadRow.id).desc())
_RunRow = tuple[UploadRow, str]
_JudgedRow = tuple[VerdictRow, UploadRow, str]


def runs_page(
    session: Session,
    project_id: int,
    *,
    pull_request: int | None = None,
    sha: str | None = None,
    machine_class: str | None = None,
    status: UploadStatus | None = None,
    after: Key | None = None,
    most: int,
) -> KeysetPage[RunRead]:
    """Return a project's runs, last received first; `sha` filters by head commit."""
    conditions = _of_runs(project_id, pull_request=pull_request, sha=sha)
    if machine_class is not None:
        conditions.append(col(EnvironmentRow.machine_class) == machine_class)
    if status is not None:
        conditions.append(col(UploadRow.status) == status)
    if after is not None:
        conditions.append(_is_older(after))
    rows = session.exec(_runs(*conditions).order_by(*_NEWEST_FIRST).limit(most + 1)).all()
    quarantines = quarantines_of_uploads(session, [upload.id for upload, _ in rows])
    return page_of(
        rows,
        most=most,
        key=lambda row: _key(row[0]),
        read=lambda row: _run(row, quarantines.get(row[0].id, ())),
    )


def run_by_id(
    session: Session, project_id: int, run_id: str
) -> tuple[RunRead, tuple[VerdictRead, ...]]:
    """Return a project's run with its verdicts; raise NotFoundError if it has none with this id."""
    row = session.exec(
        _runs(col(UploadRow.project_id) == project_id, col(UploadRow.id) == run_id)
    ).first()
    if row is None:
        msg = f"no run {run_id[:80]!r}"
        raise NotFoundError(msg)
    verdicts = session.exec(
        _verdicts(col(UploadRow.id) == run_id).order_by(col(VerdictRow.position))
    )
    run = _run(row, quarantines_of_upload(session, run_id))
    return run, tuple(map(_verdict, verdicts))


def verdicts_page(
    session: Session,
    project_id: int,
    *,
    pull_request: int | None = None,
    sha: str | None = None,
    workload: str | None = None,
    metric: str | None = None,
    outcome: Outcome | None = None,
    after: Key | None = None,
    most: int,
) -> KeysetPage[VerdictRead]:
    """Return a project's verdicts, newest run first; `sha` filters by head commit."""
    conditions = _of_runs(project_id, pull_request=pull_request, sha=sha)
    filters = {
        VerdictRow.workload: workload,
        VerdictRow.metric: metric,
        VerdictRow.outcome: outcome,
    }
    conditions += [col(column) == value for column, value in filters.items() if value is not None]
    position = col(VerdictRow.position)
    if after is not None:
        run = _is_of_run(after)
        conditions.append(_is_older(after) | (run & (position > after[2])))
    rows = session.exec(
        _verdicts(*conditions).order_by(*_NEWEST_FIRST, position).limit(most + 1)
    ).all()
    return page_of(rows, most=most, key=lambda row: (*_key(row[1]), row[0].position), read=_verdict)


def verdicts_of_runs(session: Session, run_ids: Sequence[str]) -> Iterator[VerdictRead]:
    """Yield all verdicts of some runs, newest run first, in batches."""
    query = _verdicts(col(UploadRow.id).in_(run_ids))
    ordered = query.order_by(*_NEWEST_FIRST, col(VerdictRow.position))
    rows = session.exec(ordered.execution_options(yield_per=ROWS_IN_MEMORY))
    return map(_verdict, rows)


def count_runs(session: Session, project_id: int) -> int:
    """Return how many runs a project has."""
    is_of_project = col(UploadRow.project_id) == project_id
    return session.exec(select(func.count()).select_from(UploadRow).where(is_of_project)).one()


def _of_runs(
    project_id: int, *, pull_request: int | None, sha: str | None
) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [col(UploadRow.project_id) == project_id]
    if pull_request is not None:
        conditions.append(col(UploadRow.pull_request) == pull_request)
    if sha is not None:
        conditions.append(col(UploadRow.head_sha) == sha)
    return conditions


def _runs(*conditions: ColumnElement[bool]) -> Select[UploadRow, str]:
    return select(UploadRow, EnvironmentRow.machine_class).join(EnvironmentRow).where(*conditions)


def _verdicts(*conditions: ColumnElement[bool]) -> Select[VerdictRow, UploadRow, str]:
    return (
        select(VerdictRow, UploadRow, EnvironmentRow.machine_class)
        .join(UploadRow, col(VerdictRow.upload_id) == col(UploadRow.id))
        .join(EnvironmentRow)
        .where(*conditions)
    )


def _key(upload: UploadRow) -> tuple[str, str]:
    return upload.created_at.isoformat(), upload.id


def _is_older(after: Key) -> ColumnElement[bool]:
    """Return the condition that a run comes after the one of a key."""
    key = tuple_(col(UploadRow.created_at), col(UploadRow.id))
    return key < (datetime.fromisoformat(str(after[0])), after[1])


def _is_of_run(after: Key) -> ColumnElement[bool]:
    return col(UploadRow.id) == after[1]


def _run(row: _RunRow, quarantines: Sequence[Quarantine]) -> RunRead:
    upload, machine_class = row
    return RunRead(
        id=upload.id,
        pull_request=upload.pull_request,
        base_sha=upload.base_sha,
        head_sha=upload.head_sha,
        head_subject=upload.head_subject,
        machine_class=machine_class,
        sender=UploadSender(upload.sender),
        status=UploadStatus(upload.status),
        reason=upload.reason,
        conclusion=upload.conclusion,
        headline=upload.headline,
        bundle_sha256=upload.bundle_sha256,
        measured_at=upload.measured_at,
        received_at=upload.created_at,
        judged_at=upload.judged_at,
        quarantined_devices=tuple(dict.fromkeys(one.device.name for one in quarantines)),
    )


def _verdict(row: _JudgedRow) -> VerdictRead:
    verdict, upload, machine_class = row
    judged = verdict_of(verdict)
    estimate = judged.shown_estimate
    return VerdictRead(
        run_id=upload.id,
        pull_request=upload.pull_request,
        base_sha=upload.base_sha,
        head_sha=upload.head_sha,
        machine_class=machine_class,
        measured_at=upload.measured_at,
        workload=verdict.workload,
        metric=verdict.metric,
        unit=verdict.unit,
        worse=WorseDirection(verdict.worse),
        outcome=Outcome(verdict.outcome),
        is_warning=verdict.is_warning,
        reason=verdict.reason,
        pairs=verdict.pairs,
        base=verdict.base,
        head=verdict.head,
        change=None if estimate is None else estimate.change,
        low=None if estimate is None else estimate.low,
        high=None if estimate is None else estimate.high,
        excludes_waits=judged.excludes_waits,
    )
