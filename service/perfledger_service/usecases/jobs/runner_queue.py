"""Queues jobs for runners, and lends each to one runner at a time.

A runner holds a job under a lease, which it renews by heartbeats. If a lease ends without a result,
the job goes to the next runner. A job has at most one result: the first to arrive is stored,
whichever runner sends it, and later ones are refused. So a runner that reconnects after an outage
neither loses its measurements nor stores them twice.
"""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.errors import ConflictError, TooManyRequestsError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices.quarantines import open_quarantines
from perfledger_service.store.jobs.runner_jobs import (
    NewRunnerJob,
    StoredRunnerJob,
    add_runner_job,
    count_open_jobs,
    newest_runner_jobs,
    open_runner_jobs,
    runner_job,
    runner_job_of_key,
    save_progress,
)
from perfledger_service.store.jobs.runners import record_runner, served_classes
from perfledger_service.store.projects import Project, lock_project
from perfledger_service.usecases.jobs.answer_check import check_answer
from perfledger_service.usecases.jobs.budget import budget_problem
from perfledger_service.usecases.jobs.lost_leases import is_given_up
from perfledger_service.usecases.jobs.quarantine_waits import excluded_devices, explain_waits
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.values.service_views.devices import Quarantine

MAX_OPEN_JOBS = 1000  # per project: more than its runners can measure in a week
MAX_LISTED_JOBS = 200  # the newest of a project
# After this many attempts a job fails if its runners could not do it. If its runners were lost, it
# fails only then, and only if the job caused that.
MAX_ATTEMPTS = 5
# Doubled with each attempt, so that a job that fails immediately does not keep a runner busy.
RETRY_AFTER = timedelta(minutes=1)
# A runner that has not asked for this long is not waited for.
RUNNER_ABSENT_AFTER = timedelta(days=1)
# People wait for jobs of the first kinds.
_ORDER = tuple(RunnerJobKind)


def queue_job(
    session: Session, project_id: int, job: NewRunnerJob, *, now: datetime
) -> StoredRunnerJob:
    """Queue a job, and return it; a job requested before is returned as it is.

    The caller holds the project's lock and commits. Raises TooManyRequestsError.
    """
    earlier = runner_job_of_key(session, project_id, job.key)
    if earlier is not None:
        return earlier
    count = count_open_jobs(session, project_id)
    if count >= MAX_OPEN_JOBS:
        msg = f"{count} jobs wait for runners of this project: the limit"
        raise TooManyRequestsError(msg)
    job_id = secrets.token_hex(16)
    add_runner_job(session, project_id, job, job_id=job_id, now=now)
    return runner_job(session, project_id, job_id)


def take_job(
    engine: Engine, project: Project, request: JobRequest, *, now: datetime
) -> StoredRunnerJob | None:
    """Lend a runner the first job that it can run; None if there is none.

    The same request again, after a lost answer, returns the same job.
    """
    with write_session(engine) as session:
        lock_project(session, project.id)
        record_runner(session, project.id, request.runner, request.machine_classes, now=now)
        closed = open_quarantines(session, project.id)
        jobs = [_without_lost_lease(session, job, now=now) for job in _open_jobs(session, project)]
        job = _lent_before(jobs, request) or _first_for(jobs, request, closed, now=now)
        if closed:
            explain_waits(session, jobs, request, closed)
        is_new = job is not None and job.lease != request.lease
        if job is not None and is_new and _must_wait(session, job, request, jobs, now=now):
            job = None
        if job is not None:
            job = replace(
                job,
                state=RunnerJobState.LEASED,
                runner=request.runner,
                attempts=job.attempts + (job.lease != request.lease),
                lease=request.lease,
                lease_expires_at=now + timedelta(seconds=request.lease_s),
                taken_at=job.taken_at if job.lease == request.lease else now,
                devices=request.devices_for(job),
                reason="",
            )
            save_progress(session, job)
            job = replace(job, excluded_devices=excluded_devices(job, closed))
        session.commit()
    return job


def renew_lease(
    engine: Engine, project: Project, job_id: str, lease: str, *, lease_s: float, now: datetime
) -> StoredRunnerJob:
    """Renew a lease from now on; raise ConflictError if the runner no longer holds it.

    An expired lease is renewed, too, as long as no other runner has the job.
    """
    with write_session(engine) as session:
        lock_project(session, project.id)
        job = _held_job(session, project, job_id, lease)
        job = replace(job, lease_expires_at=now + timedelta(seconds=lease_s))
        save_progress(session, job)
        session.commit()
    return job


def answer_job(
    session: Session,
    project: Project,
    job_id: str,
    bundle: Bundle,
    *,
    upload_id: str | None,
    reason: str = "",
    now: datetime,
) -> StoredRunnerJob:
    """Record a bundle as a job's result, and return the job; canaries are not an upload.

    The caller holds the project's lock and commits.

    Raises UsageError if the bundle's commits, workloads, machines or pull request are not the
    job's, and ConflictError if the job has another result.
    """
    job = runner_job(session, project.id, job_id)
    check_answer(job, bundle)
    held_s = bundle.held_s
    device_s = None if held_s is None else held_s * bundle.machine.count
    return finish_job(
        session, project, job_id, upload_id=upload_id, device_s=device_s, reason=reason, now=now
    )


def finish_job(
    session: Session,
    project: Project,
    job_id: str,
    *,
    upload_id: str | None,
    device_s: float | None,
    reason: str = "",
    now: datetime,
) -> StoredRunnerJob:
    """Record a job's result, None if it ended without a bundle; a repetition changes nothing.

    The first result counts, even from a runner whose lease ended. `device_s` are the device-seconds
    that it held, None if the bundle does not say. Raises ConflictError for a second one. The caller
    holds the project's lock and commits.
    """
    job = runner_job(session, project.id, job_id)
    if job.state is RunnerJobState.DONE:
        if job.upload_id == upload_id:
            return job
        raise _second_result(job)
    if job.state is RunnerJobState.CANCELLED:
        raise ConflictError(_cancellation_message(job))
    spent_s = _lease_device_seconds(job, now=now) if device_s is None else device_s
    job = replace(
        job,
        state=RunnerJobState.DONE,
        lease="",
        lease_expires_at=None,
        upload_id=upload_id,
        reason=reason,
        device_s=job.device_s + spent_s,
        finished_at=now,
    )
    save_progress(session, job)
    return job


def require_no_result(session: Session, project: Project, job_id: str) -> None:
    """Raise ConflictError if a job has a result: new canaries would be a second one."""
    job = runner_job(session, project.id, job_id)
    if job.state is RunnerJobState.DONE:
        raise _second_result(job)


def finish_without_bundle(
    engine: Engine, project: Project, job_id: str, lease: str, *, reason: str, now: datetime
) -> StoredRunnerJob:
    """Record that a job's runner ended it with nothing to upload."""
    with write_session(engine) as session:
        lock_project(session, project.id)
        job = runner_job(session, project.id, job_id)
        if job.state is not RunnerJobState.DONE:
            _held_job(session, project, job_id, lease)
        job = finish_job(
            session, project, job_id, upload_id=None, device_s=None, reason=reason, now=now
        )
        session.commit()
    return job


def fail_job(
    engine: Engine,
    project: Project,
    job_id: str,
    lease: str,
    *,
    reason: str,
    is_final: bool,
    now: datetime,
) -> StoredRunnerJob:
    """Record that a runner could not do its job; it is queued again if that can help."""
    with write_session(engine) as session:
        lock_project(session, project.id)
        job = _held_job(session, project, job_id, lease)
        is_over = is_final or job.attempts >= MAX_ATTEMPTS
        job = replace(
            _released_job(job, now=now),
            state=RunnerJobState.FAILED if is_over else RunnerJobState.QUEUED,
            reason=reason,
            due_at=now + RETRY_AFTER * 2 ** (job.attempts - 1),
            finished_at=now if is_over else None,
        )
        save_progress(session, job)
        session.commit()
    return job


def return_job(
    engine: Engine, project: Project, job_id: str, lease: str, *, now: datetime
) -> StoredRunnerJob:
    """Take a job back from a runner that shuts down; this does not count as an attempt."""
    with write_session(engine) as session:
        lock_project(session, project.id)
        job = _released_job(_held_job(session, project, job_id, lease), now=now)
        job = replace(
            job, state=RunnerJobState.QUEUED, attempts=job.attempts - 1, reason="", due_at=now
        )
        save_progress(session, job)
        session.commit()
    return job


def cancel_job(
    engine: Engine, project: Project, job_id: str, *, reason: str, now: datetime
) -> StoredRunnerJob:
    """Cancel a job; its runner, if it has one, learns of it by its next heartbeat.

    Raises ConflictError for a job that is done or failed.
    """
    with write_session(engine) as session:
        lock_project(session, project.id)
        job = runner_job(session, project.id, job_id)
        if job.state is not RunnerJobState.CANCELLED:
            if not job.state.is_open:
                msg = f"job {job.id} is {job.state} already: there is nothing to cancel"
                raise ConflictError(msg)
            job = cancel_queued_job(session, job, reason=reason, now=now)
        session.commit()
    return job


def cancel_queued_job(
    session: Session, job: StoredRunnerJob, *, reason: str, now: datetime
) -> StoredRunnerJob:
    """Return a job after cancelling it; the caller holds the project's lock and commits."""
    state = RunnerJobState.CANCELLED
    job = replace(_released_job(job, now=now), state=state, reason=reason, finished_at=now)
    save_progress(session, job)
    return job


def jobs_of_project(engine: Engine, project: Project) -> tuple[StoredRunnerJob, ...]:
    """Return the newest jobs of a project, newest first."""
    with read_session(engine) as session:
        return newest_runner_jobs(session, project.id, limit=MAX_LISTED_JOBS)


def classes_with_runners(session: Session, project_id: int, *, now: datetime) -> tuple[str, ...]:
    """Return the machine classes whose runners have recently asked for jobs."""
    return served_classes(session, project_id, since=now - RUNNER_ABSENT_AFTER)


def queue_order(job: StoredRunnerJob) -> tuple[int, datetime, str]:
    """Return the sort key of the order in which jobs are taken."""
    return _ORDER.index(job.kind), job.created_at, job.id


def _open_jobs(session: Session, project: Project) -> list[StoredRunnerJob]:
    return sorted(open_runner_jobs(session, project.id), key=queue_order)


def _without_lost_lease(
    session: Session, job: StoredRunnerJob, *, now: datetime
) -> StoredRunnerJob:
    """Fail a job that ends its runners; return the job."""
    if not _is_lost(job, now=now):
        return job
    newest = newest_runner_jobs(session, job.project_id, limit=MAX_LISTED_JOBS)
    done = [one.attempts for one in newest if one.state is RunnerJobState.DONE]
    if not is_given_up(job.attempts, done, min_attempts=MAX_ATTEMPTS):
        return job
    reason = f"{job.attempts} runners took it and never reported back, the last one {job.runner}"
    state = RunnerJobState.FAILED
    job = replace(_released_job(job, now=now), state=state, reason=reason, finished_at=now)
    save_progress(session, job)
    return job


def _lent_before(jobs: list[StoredRunnerJob], request: JobRequest) -> StoredRunnerJob | None:
    is_mine = (job for job in jobs if job.state is RunnerJobState.LEASED)
    return next((job for job in is_mine if job.lease == request.lease), None)


def _first_for(
    jobs: list[StoredRunnerJob],
    request: JobRequest,
    closed: Sequence[Quarantine],
    *,
    now: datetime,
) -> StoredRunnerJob | None:
    for job in jobs:
        is_free = job.state is RunnerJobState.QUEUED and job.due_at <= now
        if (is_free or _is_lost(job, now=now)) and request.can_run(job, closed):
            return _released_job(job, now=now)
    return None


def _must_wait(
    session: Session,
    job: StoredRunnerJob,
    request: JobRequest,
    jobs: Sequence[StoredRunnerJob],
    *,
    now: datetime,
) -> bool:
    """Return whether the budget prevents a job from starting; the job records it."""
    problem = budget_problem(
        session, job.project_id, devices=request.devices_for(job), open_jobs=jobs, now=now
    )
    if problem:
        waiting = replace(job, state=RunnerJobState.QUEUED, reason=problem)
        save_progress(session, waiting)
    return bool(problem)


def _is_lost(job: StoredRunnerJob, *, now: datetime) -> bool:
    expires_at = job.lease_expires_at
    return job.state is RunnerJobState.LEASED and expires_at is not None and expires_at <= now


def _released_job(job: StoredRunnerJob, *, now: datetime) -> StoredRunnerJob:
    """Return a job without its lease, with the device-seconds that the lease held."""
    device_s = job.device_s + _lease_device_seconds(job, now=now)
    return replace(job, lease="", lease_expires_at=None, device_s=device_s)


def _lease_device_seconds(job: StoredRunnerJob, *, now: datetime) -> float:
    """Return the device-seconds of a job's runner so far, or until the end of a lost lease."""
    if job.state is not RunnerJobState.LEASED or job.taken_at is None:
        return 0.0
    until = min(now, job.lease_expires_at or now)
    return job.devices * max(0.0, (until - job.taken_at).total_seconds())


def _held_job(session: Session, project: Project, job_id: str, lease: str) -> StoredRunnerJob:
    """Return a job that a lease holds; raise ConflictError for any other."""
    job = runner_job(session, project.id, job_id)
    if job.state is RunnerJobState.CANCELLED:
        raise ConflictError(_cancellation_message(job))
    if job.state is not RunnerJobState.LEASED or job.lease != lease:
        msg = f"job {job.id} is {job.state} and no longer this runner's: stop working on it"
        raise ConflictError(msg)
    return job


def _second_result(job: StoredRunnerJob) -> ConflictError:
    return ConflictError(f"job {job.id} already has a result: this one is not needed")


def _cancellation_message(job: StoredRunnerJob) -> str:
    return f"job {job.id} was cancelled ({job.reason}): stop working on it"
