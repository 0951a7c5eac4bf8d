"""Queues what is due: scheduled runs of default branches, and the A/B runs that they need.

Each job's key says which day or request it is for, so the queue holds it once, even if several
replicas queue it or one repeats it after a crash. After an outage of the service, only the newest
due run is queued.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

import structlog
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.registration.workload_pattern import is_match
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.errors import TooManyRequestsError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.policies import schedules_of
from perfledger_service.store.jobs.runner_jobs import (
    NewRunnerJob,
    StoredRunnerJob,
    open_runner_jobs,
    stored_keys,
)
from perfledger_service.store.jobs.runners import runners_since
from perfledger_service.store.projects import Project, lock_project, projects
from perfledger_service.usecases.history.branch import requested_ab_runs
from perfledger_service.usecases.jobs.budget import week_of
from perfledger_service.usecases.jobs.runner_queue import (
    RUNNER_ABSENT_AFTER,
    cancel_queued_job,
    classes_with_runners,
    queue_job,
)
from perfledger_service.values.branch_views import AbRequestView
from perfledger_service.values.fleet_views import RunnerView
from perfledger_service.values.jobs.policies import JobSchedule

_log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _DueWork:
    """Jobs to queue, and jobs that are no longer needed."""

    new_jobs: tuple[NewRunnerJob, ...]
    unneeded_jobs: tuple[StoredRunnerJob, ...]


def queue_due_jobs(engine: Engine, *, now: datetime) -> None:
    """Queue each project's due runs, and the A/B runs for which there is a runner.

    A failure in one project is logged and does not stop the others.
    """
    with read_session(engine) as session:
        all_projects = projects(session)
    for project in all_projects:
        try:
            _queue_due_jobs(engine, project, now=now)
        except Exception as error:  # this project fails, the others are served
            _log.error("jobs are not queued", project=project.repository, exc_info=error)


def job_key(kind: RunnerJobKind, *facts: object) -> str:
    """Return the key of a job by its purpose; it is hashed as a workload's name may be long."""
    text = "\n".join(map(str, facts))
    return f"{kind}:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _queue_due_jobs(engine: Engine, project: Project, *, now: datetime) -> None:
    with read_session(engine) as session:
        work = _due_work(session, project, now=now)
    if work.new_jobs or work.unneeded_jobs:
        _queue(engine, project, work, now=now)


def _due_work(session: Session, project: Project, *, now: datetime) -> _DueWork:
    open_jobs = open_runner_jobs(session, project.id)
    runners = runners_since(session, project.id, since=now - RUNNER_ABSENT_AFTER)
    runs = [
        run
        for schedule in schedules_of(session, project.id)
        for run in _runs_of(schedule, runners, now=now)
        if not any(_is_of(one, run) for one in open_jobs)
    ]
    served = classes_with_runners(session, project.id, now=now)
    open_requests = {job.key: job for job in open_jobs if job.kind is RunnerJobKind.AB}
    is_requesting = bool(served or open_requests)
    requests = requested_ab_runs(session, project.id) if is_requesting else ()
    requested = {job.key: job for job in map(_ab_run, requests)}
    due_jobs = (*runs, *(job for job in requested.values() if job.machine_class in served))
    known_keys = stored_keys(session, project.id, [job.key for job in due_jobs])
    unneeded = (job for key, job in open_requests.items() if key not in requested)
    return _DueWork(tuple(job for job in due_jobs if job.key not in known_keys), tuple(unneeded))


def _queue(engine: Engine, project: Project, work: _DueWork, *, now: datetime) -> None:
    """Cancel and queue jobs; those beyond the limit are logged and wait for the next sweep."""
    with write_session(engine) as session:
        lock_project(session, project.id)
        unneeded_ids = {job.id for job in work.unneeded_jobs}
        for job in open_runner_jobs(session, project.id):
            if job.id in unneeded_ids:
                cancel_queued_job(
                    session, job, reason="its A/B run is no longer requested", now=now
                )
        try:
            for new_job in work.new_jobs:
                queue_job(session, project.id, new_job, now=now)
        except TooManyRequestsError as error:
            _log.warning("jobs are not queued", project=project.repository, reason=str(error))
        session.commit()


def _is_of(job: StoredRunnerJob, run: NewRunnerJob) -> bool:
    """Return whether an open job is an earlier run of the same schedule."""
    names = ("kind", "machine_class", "for_runner")
    return all(getattr(job, name) == getattr(run, name) for name in names)


def _runs_of(
    schedule: JobSchedule, runners: Sequence[RunnerView], *, now: datetime
) -> Iterator[NewRunnerJob]:
    """Yield the newest due run of a schedule; for devices' canaries, one per runner."""
    if schedule.kind is not RunnerJobKind.BUILTIN:
        yield _run_of(schedule, now=now)
        return
    for runner in runners:
        if is_match(schedule.machine_class, runner.machine_class):
            of_runner = replace(schedule, machine_class=runner.machine_class)
            yield _run_of(of_runner, for_runner=runner.name, now=now)


def _run_of(schedule: JobSchedule, *, for_runner: str = "", now: datetime) -> NewRunnerJob:
    is_weekly = schedule.kind is RunnerJobKind.WEEKLY
    day = week_of(now) if is_weekly else now.replace(minute=0, second=0, microsecond=0)
    due_at = day.replace(hour=schedule.hour)
    if due_at > now:
        due_at -= timedelta(days=7 if is_weekly else 1)
    facts = (schedule.machine_class, due_at.date(), *([for_runner] if for_runner else []))
    return NewRunnerJob(
        key=job_key(schedule.kind, *facts),
        kind=schedule.kind,
        machine_class=schedule.machine_class,
        for_runner=for_runner,
        requested_by="the schedule",
    )


def _ab_run(view: AbRequestView) -> NewRunnerJob:
    request = view.request
    commits = (view.base_sha, view.head_sha)
    facts = (request.workload, request.machine_class, *commits, request.max_pairs, request.window)
    return NewRunnerJob(
        key=job_key(RunnerJobKind.AB, *facts),
        kind=RunnerJobKind.AB,
        machine_class=request.machine_class,
        base_sha=view.base_sha,
        head_sha=view.head_sha,
        workloads=(request.workload,),
        max_pairs=request.max_pairs,
        requested_by=f"a suspected change: {request.purpose}",
    )
