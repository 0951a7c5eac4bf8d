"""Lists, cancels, schedules and limits the jobs of the queue for runners."""

from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import Repository
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store


class RunKind(StrEnum):
    """Kind of a regular run of the default branch."""

    NIGHTLY = "nightly"
    WEEKLY = "weekly"
    CANARY = "canary"
    BUILTIN = "builtin"


@command(
    examples=(
        "perfledger server job list octo/models",
        "perfledger server job list octo/models --json",
    )
)
def list_jobs(repository: Repository, *, output: DocumentOutput) -> None:
    """List the newest jobs for runners, and why they are waiting or failed."""
    from perfledger_service.rendering.server.job import jobs_document

    with open_store() as engine:
        from perfledger_service.usecases.jobs.job import jobs_of_repository

        jobs = jobs_of_repository(engine, repository)
    output.write_document(jobs, partial(jobs_document, repository))


@command(
    examples=(
        "perfledger server job schedule octo/models nightly --hour 2",
        "perfledger server job schedule octo/models builtin --machine-class 'cuda:*H100*:1'",
        "perfledger server job schedule octo/models canary --off",
    )
)
def schedule(
    repository: Repository,
    kind: Annotated[
        RunKind,
        argument("nightly, weekly (on Mondays), canary or builtin (daily)", metavar="KIND"),
    ],
    *,
    machine_class: Annotated[str, what("pattern of the machine class", metavar="CLASS")] = "*",
    hour: Annotated[int, how("the hour of the day, UTC", metavar="HOUR", minimum=0)] = 2,
    off: Annotated[bool, how("stop these runs on this class", flag="--off")] = False,
    output: DocumentOutput,
) -> None:
    """Measure the default branch, or the devices, regularly on a machine class.

    A run is queued within half a minute of its hour. If runs were missed, one is queued
    immediately, unless an earlier one is still waiting. A canary run measures the newest commit
    against itself. A builtin run measures the canaries of `bench builtin`; devices that drift are
    put in quarantine.
    """
    from perfledger_service.rendering.server.job import schedule_document

    with open_store() as engine:
        from perfledger_runners.jobs.runner_job import RunnerJobKind
        from perfledger_service.usecases.jobs.job import end_schedule, schedule_runs
        from perfledger_service.values.jobs.policies import JobSchedule

        job_kind = RunnerJobKind(kind)
        if off:
            end_schedule(engine, repository, job_kind, machine_class)
        else:
            runs = JobSchedule(kind=job_kind, machine_class=machine_class, hour=hour)
            schedule_runs(engine, repository, runs)
    output.write_document(
        None if off else hour,
        lambda start: schedule_document(
            repository, kind=kind, machine_class=machine_class, hour=start
        ),
    )


@command(
    examples=(
        "perfledger server job budget octo/models --device-minutes 600",
        "perfledger server job budget octo/models --usd 50 --device-price 2.99",
        "perfledger server job budget octo/models --json",
    )
)
def budget(
    repository: Repository,
    *,
    device_minutes: Annotated[
        float | None,
        how("device-minutes a week", metavar="MINUTES", minimum=0, default="no limit"),
    ] = None,
    usd: Annotated[
        float | None, how("USD a week", metavar="USD", minimum=0, default="no limit")
    ] = None,
    device_price: Annotated[
        float | None, how("USD per device-hour", metavar="USD", minimum=0, default="unknown")
    ] = None,
    output: DocumentOutput,
) -> None:
    """Limit the device time and cost of a project's jobs per week (Monday to Sunday, UTC).

    A job beyond the limit waits, and `server job list` shows the reason. A job that has not ended
    counts as ten minutes.
    """
    from perfledger_service.rendering.server.job import budget_document

    with open_store() as engine:
        from perfledger_service.usecases.jobs.job import limit_jobs
        from perfledger_service.values.jobs.policies import JobBudget

        limits = JobBudget(device_minutes=device_minutes, usd=usd, usd_per_device_hour=device_price)
        limit_jobs(engine, repository, limits)
    output.write_document(
        limits,
        lambda each: budget_document(
            repository,
            device_minutes=each.device_minutes,
            usd=each.usd,
            usd_per_device_hour=each.usd_per_device_hour,
        ),
    )


@command(
    examples=(
        "perfledger server job cancel octo/models 1f0c2b7e5d9a48c3b6e1f0a2d4c8b7e6",
        (
            "perfledger server job cancel octo/models 1f0c2b7e5d9a48c3b6e1f0a2d4c8b7e6 "
            "--reason 'the machine is being repaired'"
        ),
    )
)
def cancel(
    repository: Repository,
    job: Annotated[str, argument("the job's id, from `server job list --json`", metavar="JOB")],
    *,
    reason: Annotated[str, how("the reason to show", metavar="TEXT")] = "by the operator",
    output: DocumentOutput,
) -> None:
    """Cancel a job; a runner that is measuring it stops at its next heartbeat."""
    from perfledger_service.rendering.server.job import cancelled_job_document

    with open_store() as engine:
        from perfledger_service.usecases.jobs.job import cancel_by_operator

        cancelled = cancel_by_operator(
            engine, repository, job, reason=reason, now=datetime.now(UTC)
        )
    output.write_document(cancelled, partial(cancelled_job_document, repository))
