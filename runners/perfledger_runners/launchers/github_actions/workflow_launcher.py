"""Runs submissions as runs of a GitHub Actions workflow.

A dispatch is recorded on disk before it is sent and never repeated, since GitHub may carry out a
request that it did not answer. Its run is the one whose title contains the submission's name.
GitHub can also answer with the run's id (`return_run_details`), but older servers do not, and a
lost answer gives no id. Exit status, log and bundle come back as an artifact of the run.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from perfledger.rounding import integer, minutes
from perfledger_runners.launchers.github_actions.job_archive import (
    MAX_ARCHIVE_BYTES,
    JobArchive,
    JobArchiveError,
    read_job_archive,
)
from perfledger_runners.launchers.github_actions.run_states import (
    end_of_failure,
    ending_reason,
    open_status,
    run_node,
)
from perfledger_runners.launchers.github_actions.workflow_inputs import (
    RESULT_FOLDER,
    workflow_inputs,
)
from perfledger_runners.launchers.github_actions.workflow_runs import (
    ActionsError,
    RequestEffect,
    WorkflowJob,
    WorkflowRun,
    WorkflowRuns,
)
from perfledger_runners.launchers.launcher import (
    LauncherError,
    Submission,
    SubmissionState,
    SubmissionStatus,
)

# Once the run is found, each poll takes two of GitHub's 5,000 requests an hour.
POLL_S = 20.0
# GitHub shows a run within seconds, and within minutes on a bad day.
APPEARANCE_S = 600.0
# Clocks differ, and a run may seem older than its dispatch; this only bounds the search.
CLOCK_DIFFERENCE = timedelta(days=1)
# Used if a rate limit does not say how long to wait.
DISPATCH_WAIT_S = 60.0
# An artifact is listed when its run ends, or a moment later.
RESULT_WAIT_S = 90.0
# A newly requested run must appear before it can be cancelled.
CANCEL_WAIT_S = 60.0
CANCEL_POLL_S = 5.0
# Between attempts to cancel; cancelling a run twice is harmless.
RETRY_WAITS_S = (1.0, 2.0, 4.0)
MAX_JOB_LOG_BYTES = 8 * 2**20
_NEVER = datetime.min.replace(tzinfo=UTC)
_WAITING = SubmissionStatus(state=SubmissionState.WAITING)


@dataclass(slots=True, kw_only=True)
class DispatchedJob:
    """What a launcher knows about a submission; `note` is the file that says when it was sent."""

    note: Path
    inputs: dict[str, str]
    status: SubmissionStatus = _WAITING
    problem: str = ""  # with its dispatch
    send_at: datetime = _NEVER  # not before
    run: WorkflowRun | None = None
    jobs: tuple[WorkflowJob, ...] = ()
    jobs_status: str | None = None  # the run's status when its jobs were fetched
    completed_at: datetime | None = None  # as last seen
    archive: JobArchive | None = None


@dataclass(slots=True, kw_only=True)
class WorkflowLauncher:
    """A workflow whose runs are identified by the names of their submissions."""

    runs: WorkflowRuns
    workflow: str
    ref: str
    poll_s: float = POLL_S
    outlives_runner: bool = True
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    wait: Callable[[float], None] = time.sleep
    _jobs: dict[str, DispatchedJob] = field(default_factory=dict[str, DispatchedJob])

    def submit(self, submission: Submission) -> None:
        """Request a run, unless one was requested under this name; a rate limit delays it."""
        note = submission.log.with_name(f"{submission.name}.dispatch")
        job = DispatchedJob(note=note, inputs=workflow_inputs(submission))
        _write(submission.log, b"")  # an earlier job's log explains nothing
        for other in note.parent.glob("*.dispatch"):
            if other != note:
                other.unlink(missing_ok=True)
        self._jobs[submission.name] = job
        if note.exists():
            job.problem = "the runner may have been killed before it asked for it"
        else:
            self._send(job)

    def status(self, submission: Submission) -> SubmissionStatus:
        """Return the run's state; during a rate limit, its last known state."""
        job = self._jobs[submission.name]
        try:
            job.status = self._status(submission.name, job)
        except JobArchiveError as error:
            job.status = _ended_status(str(error))
        except ActionsError as error:
            if error.effect is RequestEffect.UNKNOWN:
                raise
            if error.effect is RequestEffect.REFUSED:
                job.status = _ended_status(str(error))
        return job.status

    def collect(self, submission: Submission) -> None:
        """Write the log and the bundle that the run kept, or the log of its failed job."""
        job = self._jobs[submission.name]
        archive = job.archive or JobArchive()
        _write(submission.log, archive.log or self._failure_log(job))
        if archive.bundle is not None:
            _write(submission.bundle, archive.bundle)

    def cancel(self, name: str) -> None:
        """Request the end of a run that has not ended."""
        job = self._jobs.pop(name, None)
        if job is not None and not job.note.exists():
            return  # it was never requested
        run = job.run if job is not None and job.run is not None else self._late_run(name, job)
        if run is not None and not run.is_completed:
            self._cancel(run.id)

    def _send(self, job: DispatchedJob) -> None:
        """Dispatch the workflow; even without an answer, its run may appear."""
        if self.now() < job.send_at:
            return
        _write(job.note, str(self.now().timestamp()).encode())
        try:
            self.runs.dispatch(self.workflow, self.ref, job.inputs)
        except ActionsError as error:
            job.problem = str(error)
            if error.effect is RequestEffect.UNKNOWN:
                return
            job.note.unlink(missing_ok=True)
            if error.effect is RequestEffect.REFUSED:
                raise
            wait_s = DISPATCH_WAIT_S if error.wait_s is None else error.wait_s
            job.send_at = self.now() + timedelta(seconds=wait_s)
        else:
            job.problem = ""

    def _status(self, name: str, job: DispatchedJob) -> SubmissionStatus:
        if not job.note.exists():
            self._send(job)
            return SubmissionStatus(state=SubmissionState.WAITING, reason=job.problem)
        if job.run is None:
            since = _sent_at(job.note) - CLOCK_DIFFERENCE
            job.run = self.runs.named_run(self.workflow, name, since=since)
        elif not job.run.is_completed:
            job.run = self.runs.run(job.run.id)
        if job.run is None:
            return self._status_without_run(job)
        self._ask_for_jobs(job, job.run)
        if job.run.is_completed:
            return self._ending(job, job.run)
        return open_status(job.run, job.jobs)

    def _status_without_run(self, job: DispatchedJob) -> SubmissionStatus:
        if self._elapsed_s(job) < APPEARANCE_S:
            reason = job.problem or "GitHub does not show its run yet"
            return SubmissionStatus(state=SubmissionState.WAITING, reason=reason)
        why = job.problem or "does its run-name contain inputs.name?"
        return _ended_status(
            f"no run of {self.workflow} with its name appeared within "
            f"{minutes(APPEARANCE_S)}: {why}"
        )

    def _ending(self, job: DispatchedJob, run: WorkflowRun) -> SubmissionStatus:
        """Return how a run ended: by the exit status that it kept, else by GitHub's status."""
        job.completed_at = job.completed_at or self.now()
        if job.archive is None:
            data = self.runs.artifact(run.id, RESULT_FOLDER, max_bytes=MAX_ARCHIVE_BYTES)
            waited_s = (self.now() - job.completed_at).total_seconds()
            if data is None and run.conclusion == "success" and waited_s < RESULT_WAIT_S:
                node = run_node(run, job.jobs)
                return SubmissionStatus(state=SubmissionState.RUNNING, node=node)
            job.archive = JobArchive() if data is None else read_job_archive(data)
        exit_status, node = job.archive.exit_status, run_node(run, job.jobs)
        if exit_status is None:
            return _ended_status(ending_reason(run, job.jobs), node=node)
        if exit_status < 0:
            return _ended_status(f"signal {-exit_status} ended it", node=node)
        return SubmissionStatus(state=SubmissionState.ENDED, exit_status=exit_status, node=node)

    def _ask_for_jobs(self, job: DispatchedJob, run: WorkflowRun) -> None:
        """Fetch a run's jobs, which show where it runs and why it failed, once per state."""
        if run.status != job.jobs_status or not job.jobs:
            with suppress(ActionsError):
                job.jobs, job.jobs_status = self.runs.jobs(run.id), run.status

    def _failure_log(self, job: DispatchedJob) -> bytes:
        """Return the output of the failed job, b"" if it cannot be read."""
        failed = next((one for one in job.jobs if one.conclusion == "failure"), None)
        with suppress(ActionsError):
            if failed is not None:
                return end_of_failure(self.runs.job_log(failed.id, max_bytes=MAX_JOB_LOG_BYTES))
        return b""

    def _late_run(self, name: str, job: DispatchedJob | None) -> WorkflowRun | None:
        """Return a submission's run, None if it has none; wait for one just requested."""
        since = _NEVER if job is None else _sent_at(job.note) - CLOCK_DIFFERENCE
        run = self.runs.named_run(self.workflow, name, since=since)
        until = self.now() + timedelta(seconds=CANCEL_WAIT_S)
        while run is None and job is not None and self._elapsed_s(job) < APPEARANCE_S:
            if self.now() >= until:
                msg = f"no run appeared within {integer(CANCEL_WAIT_S)} s that could be cancelled"
                raise LauncherError(msg)
            self.wait(CANCEL_POLL_S)
            run = self.runs.named_run(self.workflow, name, since=since)
        return run

    def _cancel(self, run_id: int) -> None:
        for wait_s in RETRY_WAITS_S:
            try:
                self.runs.cancel(run_id)
            except ActionsError as error:
                if error.effect is not RequestEffect.UNKNOWN:
                    raise
                self.wait(wait_s)
            else:
                return
        self.runs.cancel(run_id)

    def _elapsed_s(self, job: DispatchedJob) -> float:
        return (self.now() - _sent_at(job.note)).total_seconds()


def _sent_at(note: Path) -> datetime:
    """Return when a dispatch was sent."""
    try:
        return datetime.fromtimestamp(float(note.read_text(encoding="utf-8")), UTC)
    except (OSError, ValueError, OverflowError) as error:
        msg = f"{note} does not say when the workflow was dispatched: {error}"
        raise LauncherError(msg) from error


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically: complete or unchanged, also after a power cut."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror}"
        raise LauncherError(msg) from error


def _ended_status(reason: str, *, node: str = "") -> SubmissionStatus:
    return SubmissionStatus(state=SubmissionState.ENDED, reason=reason, node=node)
