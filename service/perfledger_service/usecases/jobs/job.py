"""Sets when a project's default branch is measured, and its jobs' weekly budget."""

from datetime import datetime

from sqlalchemy import Engine

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.errors import UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.policies import remove_schedule, set_budget, set_schedule
from perfledger_service.store.jobs.runner_jobs import StoredRunnerJob
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.jobs.runner_queue import cancel_job, jobs_of_project
from perfledger_service.values.jobs.policies import JobBudget, JobSchedule

LAST_HOUR = 23


def schedule_runs(engine: Engine, repository: str, schedule: JobSchedule) -> None:
    """Measure a project's default branch regularly; raise UsageError for an invalid hour."""
    if not 0 <= schedule.hour <= LAST_HOUR:
        msg = f"{schedule.hour} is no hour of a day: give 0 to {LAST_HOUR}, in UTC"
        raise UsageError(msg)
    with write_session(engine) as session:
        set_schedule(session, project_named(session, repository).id, schedule)
        session.commit()


def end_schedule(engine: Engine, repository: str, kind: RunnerJobKind, machine_class: str) -> None:
    """Stop queuing runs of a kind and a machine class."""
    with write_session(engine) as session:
        remove_schedule(session, project_named(session, repository).id, kind, machine_class)
        session.commit()


def limit_jobs(engine: Engine, repository: str, budget: JobBudget) -> None:
    """Set how much device time and money a project's jobs may use in a week.

    Raises UsageError for a budget in USD without a price per device-hour.
    """
    if budget.usd is not None and budget.usd_per_device_hour is None:
        msg = "a budget in USD needs the price of a device-hour: --device-price USD"
        raise UsageError(msg)
    with write_session(engine) as session:
        set_budget(session, project_named(session, repository).id, budget)
        session.commit()


def jobs_of_repository(engine: Engine, repository: str) -> tuple[StoredRunnerJob, ...]:
    """Return a project's newest jobs, newest first; raise NotFoundError if it does not exist."""
    with read_session(engine) as session:
        project = project_named(session, repository)
    return jobs_of_project(engine, project)


def cancel_by_operator(
    engine: Engine, repository: str, job_id: str, *, reason: str, now: datetime
) -> StoredRunnerJob:
    """Cancel a job of a project; raise NotFoundError and ConflictError."""
    with read_session(engine) as session:
        project = project_named(session, repository)
    return cancel_job(engine, project, job_id, reason=reason, now=now)
