"""Defines the progress of a runner job that a comment asked for."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum


class JobStage(StrEnum):
    """Progress of a job, for those who asked for it."""

    NOT_QUEUED = "not queued"  # without a reason: there is no runner
    WITHOUT_RUNNER = "without runner"  # queued, and none has asked for jobs for a day
    OVER_BUDGET = "over budget"
    RETRYING = "retrying"
    QUEUED = "queued"
    RUNNING = "running"
    JUDGING = "judging"
    DONE = "done"
    DROPPED = "dropped"  # failed, cancelled, or its result is not used

    @property
    def is_open(self) -> bool:
        """Return whether there is more to come."""
        return self not in {JobStage.NOT_QUEUED, JobStage.DONE, JobStage.DROPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProgress:
    """A job of a machine class: its place in the queue, or its result.

    `commit` is the one that a bisection found; `budget_until` is when the next week begins.
    """

    machine_class: str
    stage: JobStage
    jobs_before: int = 0
    runner: str = ""
    reason: str = ""
    title: str = ""
    url: str = ""
    commit: str = ""
    budget_until: date | None = None
