"""Presents the queue for runners, and a project's schedules and budget."""

from collections.abc import Sequence

from perfledger.records import short_sha
from perfledger_cost_models.money import Usd
from perfledger_runners.jobs.runner_job import RunnerJob
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    fact_document,
    figure,
    name,
    table,
)

_MAX_NAME = 60
_MAX_REASON = 300


_JOB_COLUMNS: tuple[Column[RunnerJob], ...] = (
    name("id", "job", lambda row: row.id, show=lambda row: row.id[:8]),
    figure("state", "state", lambda row: row.state),
    figure("kind", "kind", lambda row: row.kind),
    name("machine_class", "machine class", lambda row: row.machine_class, limit=_MAX_NAME),
    name("head_sha", "head", lambda row: row.head_sha, show=lambda row: short_sha(row.head_sha)),
    name("runner", "runner", lambda row: row.runner),
    figure("attempts", "attempts", lambda row: row.attempts, str),
    name("reason", "why", lambda row: row.reason, limit=_MAX_REASON),
)


def jobs_document(repository: str, jobs: Sequence[RunnerJob]) -> Document:
    """Return the newest jobs of a project, newest first."""
    return Document(
        name="perfledger-jobs",
        facts={"repository": repository},
        blocks=(table(_JOB_COLUMNS, jobs, key="jobs"),),
    )


def schedule_document(
    repository: str, *, kind: str, machine_class: str, hour: int | None
) -> Document:
    """Return when runs of a kind on a machine class start; `hour` is None if they have ended."""
    runs = f"runs of {repository} on {machine_class}"
    sentence = (
        f"No more {kind} {runs}."
        if hour is None
        else f"{kind.capitalize()} {runs} at {hour:02}:00 UTC."
    )
    return fact_document(
        "perfledger-job-schedule",
        {"repository": repository, "kind": kind, "machine_class": machine_class, "hour": hour},
        sentence,
        names=(repository, machine_class),
    )


def budget_document(
    repository: str,
    *,
    device_minutes: float | None,
    usd: float | None,
    usd_per_device_hour: float | None,
) -> Document:
    """Return the weekly limits of a project's jobs; None is no limit."""
    units = ((device_minutes, "device-minutes"), (usd, "USD"))
    limits = [f"{number_format.count(most)} {unit}" for most, unit in units if most is not None]
    extent = f"limited to {' and '.join(limits)} a week" if limits else "not limited"
    return fact_document(
        "perfledger-job-budget",
        {
            "repository": repository,
            "device_minutes": device_minutes,
            "usd": None if usd is None else Usd(usd),
            "usd_per_device_hour": (
                None if usd_per_device_hour is None else Usd(usd_per_device_hour)
            ),
        },
        f"Jobs of {repository} are {extent}.",
        names=(repository,),
    )


def cancelled_job_document(repository: str, job: RunnerJob) -> Document:
    """Return a job that was cancelled."""
    return fact_document(
        "perfledger-cancelled-job",
        {"repository": repository, "id": job.id, "state": job.state, "reason": job.reason},
        f"Job {job.id} is cancelled.",
        names=(job.id,),
    )
