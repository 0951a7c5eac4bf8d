"""Stores when a project's default branch is measured, and its jobs' weekly budget."""

from dataclasses import asdict

import msgspec
from sqlalchemy import delete
from sqlmodel import Session, col, select

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.jobs.tables import JobBudgetRow, JobScheduleRow
from perfledger_service.values.jobs.policies import JobBudget, JobSchedule

_JOB_SCHEDULE_DECODER = msgspec.json.Decoder(JobSchedule)
_JOB_BUDGET_DECODER = msgspec.json.Decoder(JobBudget)


def set_schedule(session: Session, project_id: int, schedule: JobSchedule) -> None:
    """Add a schedule, or change the hour of the one with its kind and machine class."""
    remove_schedule(session, project_id, schedule.kind, schedule.machine_class)
    session.add(JobScheduleRow(project_id=project_id, **asdict(schedule)))
    session.flush()


def remove_schedule(
    session: Session, project_id: int, kind: RunnerJobKind, machine_class: str
) -> None:
    """Remove the schedule of a kind and a machine class, if there is one."""
    session.exec(
        delete(JobScheduleRow).where(
            col(JobScheduleRow.project_id) == project_id,
            col(JobScheduleRow.kind) == kind,
            col(JobScheduleRow.machine_class) == machine_class,
        )
    )


def schedules_of(session: Session, project_id: int) -> tuple[JobSchedule, ...]:
    """Return a project's schedules by kind and machine class."""
    rows = session.exec(
        select(JobScheduleRow)
        .where(col(JobScheduleRow.project_id) == project_id)
        .order_by(col(JobScheduleRow.kind), col(JobScheduleRow.machine_class))
    )
    return tuple(row.to_value(_JOB_SCHEDULE_DECODER) for row in rows)


def set_budget(session: Session, project_id: int, budget: JobBudget) -> None:
    """Replace a project's budget."""
    session.merge(JobBudgetRow(project_id=project_id, **asdict(budget)))
    session.flush()


def budget_of(session: Session, project_id: int) -> JobBudget:
    """Return a project's budget, without limits if none was set."""
    row = session.get(JobBudgetRow, project_id)
    return JobBudget() if row is None else row.to_value(_JOB_BUDGET_DECODER)
