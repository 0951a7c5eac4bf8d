"""Keeps a project's jobs within its weekly budget of device-minutes and USD."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from perfledger.rounding import typed
from perfledger.time_units import SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from perfledger_runners.jobs.runner_job import RunnerJobState
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.store.jobs.policies import budget_of
from perfledger_service.store.jobs.runner_jobs import StoredRunnerJob, device_seconds_since
from perfledger_service.values.jobs.policies import JobBudget

# How long a job is expected to hold a device: a check's default budget, as the time is unknown.
EXPECTED_JOB_S = 600.0
WEEK = timedelta(weeks=1)


def week_of(now: datetime) -> datetime:
    """Return the start of the week that contains a time: Monday, 00:00 UTC."""
    monday = now - timedelta(days=now.weekday())
    return monday.replace(hour=0, minute=0, second=0, microsecond=0)


def budget_problem(
    session: Session,
    project_id: int,
    *,
    devices: int,
    open_jobs: Sequence[StoredRunnerJob],
    now: datetime,
) -> str:
    """Return why one more job on this many devices must wait, "" if it need not.

    Running jobs count with their expected time, so that jobs that start together do not exceed the
    budget. With a budget in USD but no price per device-hour, no job starts.
    """
    budget = budget_of(session, project_id)
    if budget.device_minutes is None and budget.usd is None:
        return ""
    began = week_of(now)
    spent_s = device_seconds_since(session, project_id, began)
    running = [job.devices for job in open_jobs if job.state is RunnerJobState.LEASED]
    expected_s = spent_s + EXPECTED_JOB_S * (sum(running) + devices)
    limit = _passed_limit(budget, expected_s)
    if not limit:
        return ""
    used = quantity(round(spent_s / SECONDS_PER_MINUTE), "device-minute")
    usage = f"{used} used, {quantity(len(running), 'job')} running"
    again = f"{began + WEEK:%Y-%m-%d}"
    return f"waits for the budget of {limit} a week ({usage}); the next week begins on {again}"


def _passed_limit(budget: JobBudget, device_s: float) -> str:
    """Return the limit that this many device-seconds exceed, "" for none."""
    if budget.device_minutes is not None and device_s > budget.device_minutes * SECONDS_PER_MINUTE:
        return f"{typed(budget.device_minutes)} device-minutes"
    price = budget.usd_per_device_hour
    if budget.usd is not None and (
        price is None or device_s / SECONDS_PER_HOUR * price > budget.usd
    ):
        return f"{typed(budget.usd)} USD"
    return ""
