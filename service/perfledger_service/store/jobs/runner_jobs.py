"""Stores the jobs of the queue for runners."""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, func, update
from sqlmodel import Session, col, select

from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind, RunnerJobState
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import is_storable
from perfledger_service.store.devices.tables import QuarantinedUploadRow
from perfledger_service.store.jobs.tables import RunnerJobRow
from perfledger_service.store.tables import ProjectRow

OPEN_STATES = tuple(state for state in RunnerJobState if state.is_open)
# The beginning of the reason why a job waits for a runner's device in quarantine.
WAITS_FOR_ANOTHER = "waits for another runner"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRunnerJob:
    """A job to queue; two with the same key are the same job."""

    key: str
    kind: RunnerJobKind
    machine_class: str
    base_sha: str = ""
    head_sha: str = ""
    pull_request: int | None = None
    allows_fork: bool = False
    workloads: tuple[str, ...] = ()
    max_pairs: int | None = None
    metric: str = ""
    for_runner: str = ""
    requested_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRunnerJob(RunnerJob):
    """A job with the fields that only the service knows."""

    project_id: int
    key: str
    lease: str
    taken_at: datetime | None
    device_s: float
    devices: int
    finished_at: datetime | None


_STORED_RUNNER_JOB_DECODER = msgspec.json.Decoder(StoredRunnerJob)
_WORKLOADS_DECODER = msgspec.json.Decoder(tuple[str, ...])
# The fields that change while a job is worked on.
_PROGRESS = (
    *("state", "runner", "lease", "lease_expires_at", "taken_at", "attempts", "reason"),
    *("device_s", "devices", "upload_id", "due_at", "finished_at"),
)


def add_runner_job(
    session: Session, project_id: int, job: NewRunnerJob, *, job_id: str, now: datetime
) -> None:
    """Store a job whose key is not stored yet; the caller holds the project's lock."""
    values: dict[str, Any] = asdict(job) | {"workloads": json.dumps(job.workloads)}
    session.add(
        RunnerJobRow(
            id=job_id,
            project_id=project_id,
            state=RunnerJobState.QUEUED,
            created_at=now,
            due_at=now,
            **values,
        )
    )
    session.flush()


def runner_job(session: Session, project_id: int, job_id: str) -> StoredRunnerJob:
    """Return a job of a project; raise NotFoundError for an unknown one."""
    if is_storable(job_id):
        for job in _jobs(session, col(RunnerJobRow.id) == job_id, project_id=project_id):
            return job
    msg = f"no job {job_id[:80]!r}"
    raise NotFoundError(msg)


def runner_job_of_key(session: Session, project_id: int, key: str) -> StoredRunnerJob | None:
    """Return a project's job with a key, None if there is none."""
    jobs = _jobs(session, col(RunnerJobRow.key) == key, project_id=project_id)
    return next(iter(jobs), None)


def stored_keys(session: Session, project_id: int, keys: Collection[str]) -> frozenset[str]:
    """Return which of some keys a project has a job for, in any state."""
    if not keys:
        return frozenset()
    of_keys = select(RunnerJobRow.key).where(
        col(RunnerJobRow.project_id) == project_id, col(RunnerJobRow.key).in_(keys)
    )
    return frozenset(session.exec(of_keys))


def open_runner_jobs(session: Session, project_id: int) -> tuple[StoredRunnerJob, ...]:
    """Return the jobs of a project that are queued or leased, oldest first."""
    return _jobs(session, col(RunnerJobRow.state).in_(OPEN_STATES), project_id=project_id)


def oldest_open_jobs(session: Session, *, most: int) -> tuple[tuple[StoredRunnerJob, ...], int]:
    """Return the oldest jobs of all projects that are queued or leased, and their total number."""
    is_open = col(RunnerJobRow.state).in_(OPEN_STATES)
    rows = session.exec(
        select(RunnerJobRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(is_open)
        .order_by(col(RunnerJobRow.created_at), col(RunnerJobRow.id))
        .limit(most)
    )
    total = session.exec(select(func.count()).select_from(RunnerJobRow).where(is_open)).one()
    return tuple(_job(row, repository) for row, repository in rows), total


def newest_runner_jobs(
    session: Session, project_id: int, *, limit: int
) -> tuple[StoredRunnerJob, ...]:
    """Return the newest jobs of a project, newest first."""
    rows = session.exec(
        select(RunnerJobRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(col(RunnerJobRow.project_id) == project_id)
        .order_by(col(RunnerJobRow.created_at).desc(), col(RunnerJobRow.id))
        .limit(limit)
    )
    return tuple(_job(row, repository) for row, repository in rows)


def count_open_jobs(session: Session, project_id: int) -> int:
    """Return the number of jobs of a project that are queued or leased."""
    return session.exec(
        select(func.count()).where(
            col(RunnerJobRow.project_id) == project_id, col(RunnerJobRow.state).in_(OPEN_STATES)
        )
    ).one()


def device_seconds_since(session: Session, project_id: int, since: datetime) -> float:
    """Return the device-seconds held by a project's jobs last taken since a time."""
    total = session.exec(
        select(func.sum(RunnerJobRow.device_s)).where(
            col(RunnerJobRow.project_id) == project_id, col(RunnerJobRow.taken_at) >= since
        )
    ).one()
    return float(total or 0.0)


def save_progress(session: Session, job: StoredRunnerJob) -> None:
    """Store a job's state; the caller holds the project's lock."""
    values = {name: getattr(job, name) for name in _PROGRESS}
    session.exec(update(RunnerJobRow).where(col(RunnerJobRow.id) == job.id).values(**values))


def ab_job_reasons(session: Session, project_id: int) -> dict[tuple[str, str, str, str], str]:
    """Return why A/B jobs are not done: by workload, machine class, base and head.

    If a request has several jobs, the newest one counts.
    """
    is_ab = col(RunnerJobRow.kind) == RunnerJobKind.AB
    is_not_done = col(RunnerJobRow.state).in_((*OPEN_STATES, RunnerJobState.FAILED))
    jobs = _jobs(session, is_ab, is_not_done, project_id=project_id)
    return {
        (workload, job.machine_class, job.base_sha, job.head_sha): job.reason
        for job in jobs
        for workload in job.workloads
    }


def retire_key(session: Session, job: StoredRunnerJob) -> None:
    """Let a job be requested once more if it ended without the expected answer."""
    if not job.key.endswith(job.id):
        key = f"{job.key}, {job.id}"
        session.exec(update(RunnerJobRow).where(col(RunnerJobRow.id) == job.id).values(key=key))


def failed_ab_jobs(session: Session, project_id: int) -> tuple[StoredRunnerJob, ...]:
    """Return the A/B jobs of a project that failed."""
    is_ab = col(RunnerJobRow.kind) == RunnerJobKind.AB
    has_failed = col(RunnerJobRow.state) == RunnerJobState.FAILED
    return _jobs(session, is_ab, has_failed, project_id=project_id)


def ab_jobs_in_quarantine(
    session: Session, project_id: int, quarantine_id: int
) -> tuple[StoredRunnerJob, ...]:
    """Return the A/B jobs of a project whose results were measured in a quarantine."""
    is_ab = col(RunnerJobRow.kind) == RunnerJobKind.AB
    uploads = select(QuarantinedUploadRow.upload_id).where(
        col(QuarantinedUploadRow.quarantine_id) == quarantine_id
    )
    is_marked = col(RunnerJobRow.upload_id).in_(uploads)
    return _jobs(session, is_ab, is_marked, project_id=project_id)


def withdraw_waits(session: Session, project_id: int) -> None:
    """Clear why jobs wait for another runner, as after a release; requests set it again.

    The caller holds the project's lock.
    """
    session.exec(
        update(RunnerJobRow)
        .where(
            col(RunnerJobRow.project_id) == project_id,
            col(RunnerJobRow.state) == RunnerJobState.QUEUED,
            col(RunnerJobRow.reason).startswith(WAITS_FOR_ANOTHER),
        )
        .values(reason="")
    )


def _jobs(
    session: Session, *conditions: ColumnElement[bool], project_id: int
) -> tuple[StoredRunnerJob, ...]:
    rows = session.exec(
        select(RunnerJobRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(col(RunnerJobRow.project_id) == project_id, *conditions)
        .order_by(col(RunnerJobRow.created_at), col(RunnerJobRow.id))
    )
    return tuple(_job(row, repository) for row, repository in rows)


def _job(row: RunnerJobRow, repository: str) -> StoredRunnerJob:
    workloads = _WORKLOADS_DECODER.decode(row.workloads)
    return row.to_value(_STORED_RUNNER_JOB_DECODER, repository=repository, workloads=workloads)
