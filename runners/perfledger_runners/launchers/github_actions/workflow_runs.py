"""Defines the launcher's requests to GitHub Actions, and the parts of the answers that it reads.

The service's client of GitHub's API implements it; the runner's packages send no requests
themselves.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Protocol

import msgspec

from perfledger_runners.launchers.launcher import LauncherError
from perfledger_runners.safe_text import clean_text

MAX_SHOWN_TEXT = 300  # characters shown of GitHub's messages


class RequestEffect(StrEnum):
    """The effect that a failed request had at GitHub."""

    REFUSED = "refused"  # nothing, and the same request would be refused again
    POSTPONED = "postponed"  # nothing, since a rate limit is used up
    UNKNOWN = "unknown"  # perhaps the requested effect: the answer was lost


class ActionsError(LauncherError):
    """A request that GitHub Actions did not fulfil, and how long to wait, if known."""

    def __init__(self, message: str, *, effect: RequestEffect, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.effect = effect
        self.wait_s = wait_s


class WorkflowRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a workflow: its state, and once it is completed, how it ended."""

    id: int
    status: str | None = None
    conclusion: str | None = None
    display_title: str | None = None
    name: str | None = None
    html_url: str = ""
    created_at: Annotated[datetime, msgspec.Meta(tz=True)]

    @property
    def is_completed(self) -> bool:
        """Return whether the run has ended."""
        return self.status == "completed"

    def is_named(self, name: str) -> bool:
        """Return whether its title contains a name; older servers send the title as its name."""
        return name in (self.display_title or "") or name in (self.name or "")


class WorkflowStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a run's job."""

    name: str = ""
    conclusion: str | None = None


class WorkflowJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job of a run: the runner that has it, or the labels of those that may take it."""

    id: int
    name: str = ""
    conclusion: str | None = None
    runner_name: str | None = None
    labels: tuple[str, ...] | None = None
    steps: tuple[WorkflowStep, ...] | None = None


class WorkflowRuns(Protocol):
    """The runs of one repository's workflows; every method raises ActionsError."""

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Request a run of a workflow, once."""
        ...

    def named_run(self, workflow: str, name: str, *, since: datetime) -> WorkflowRun | None:
        """Return the first run since a time whose title contains a name, None if there is none."""
        ...

    def run(self, run_id: int) -> WorkflowRun:
        """Return a run's current state."""
        ...

    def jobs(self, run_id: int) -> tuple[WorkflowJob, ...]:
        """Return the jobs of a run's last attempt."""
        ...

    def cancel(self, run_id: int) -> None:
        """Request the end of a run; a run that has ended is left alone."""
        ...

    def artifact(self, run_id: int, name: str, *, max_bytes: int) -> bytes | None:
        """Return the newest archive with this name that a run kept, None if there is none."""
        ...

    def job_log(self, job_id: int, *, max_bytes: int) -> bytes:
        """Return the output of a job that has ended."""
        ...


def shown_text(text: str | None) -> str:
    """Return GitHub's message on one line, cleaned and shortened."""
    return " ".join(clean_text((text or "")[: 4 * MAX_SHOWN_TEXT]).split())[:MAX_SHOWN_TEXT]
