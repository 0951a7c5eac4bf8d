"""What an operator sets for a project's jobs: when they run, and their weekly budget."""

from dataclasses import dataclass

from perfledger_runners.jobs.runner_job import RunnerJobKind


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSchedule:
    """A run of a machine class at an hour (UTC), daily or weekly on Mondays."""

    kind: RunnerJobKind
    machine_class: str
    hour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBudget:
    """What jobs may hold and cost in a week; None is no limit."""

    device_minutes: float | None = None
    usd: float | None = None
    usd_per_device_hour: float | None = None
