"""Describes the state of a workflow's run, and why one ended without a result."""

import re
from collections.abc import Sequence

from perfledger_runners.launchers.github_actions.workflow_runs import (
    WorkflowJob,
    WorkflowRun,
    shown_text,
)
from perfledger_runners.launchers.launcher import SubmissionState, SubmissionStatus

# States of a run without a runner; "requested" and "queued" need no explanation.
WAITS = {
    "waiting": "it waits for an approval or a protection rule of its environment",
    "pending": "it waits for another run of its concurrency group",
}
# Of a run without a result.
ENDINGS = {
    "action_required": "its run needs an approval",
    "cancelled": "its run was cancelled on GitHub, or exceeded the workflow's timeout-minutes",
    "failure": "its run failed before the check ended",
    "skipped": "a condition in the workflow skipped it",
    "stale": "GitHub gave up on its run after two weeks",
    "startup_failure": "GitHub could not start the workflow",
    "success": "its run succeeded without a result: does the workflow match the documentation?",
    "timed_out": "its run exceeded the workflow's timeout-minutes",
}
_ERROR_MARK = b"##[error]"
_TIMESTAMP = re.compile(rb"^\d{4}-\d\d-\d\dT[\d:.]{8,30}Z ", re.MULTILINE)


def open_status(run: WorkflowRun, jobs: Sequence[WorkflowJob]) -> SubmissionStatus:
    """Return the state of a run that has not ended."""
    if run.status == "in_progress":
        return SubmissionStatus(state=SubmissionState.RUNNING, node=run_node(run, jobs))
    reason = WAITS.get(run.status or "", "") or _labels_text(jobs)
    return SubmissionStatus(state=SubmissionState.WAITING, reason=reason)


def run_node(run: WorkflowRun, jobs: Sequence[WorkflowJob]) -> str:
    """Return the runner that has a run, if known, and the run's page."""
    names = (shown_text(job.runner_name) for job in jobs if job.runner_name)
    return ", ".join(filter(None, (next(names, ""), shown_text(run.html_url))))


def ending_reason(run: WorkflowRun, jobs: Sequence[WorkflowJob]) -> str:
    """Return why and where a run ended without a result, and the page for it."""
    conclusion = run.conclusion or "unknown"
    reason = ENDINGS.get(conclusion, f"GitHub ended its run as {shown_text(conclusion)}")
    steps = (step for job in jobs for step in job.steps or ())
    failed = next((step for step in steps if step.conclusion == "failure"), None)
    where = "" if failed is None else f", in step {shown_text(failed.name)!r}"
    return f"{reason}{where} ({shown_text(run.html_url)})"


def end_of_failure(log: bytes) -> bytes:
    """Return a job's log up to its last error, without times; the rest is GitHub's clean-up."""
    text = _TIMESTAMP.sub(b"", log)
    before, mark, after = text.rpartition(_ERROR_MARK)
    return before + mark + after.partition(b"\n")[0] if mark else text


def _labels_text(jobs: Sequence[WorkflowJob]) -> str:
    """Return what a runner needs to take the waiting job."""
    labels = next((job.labels for job in jobs if job.labels and not job.conclusion), ())
    return f"no runner with {shown_text(', '.join(labels))} has taken it" if labels else ""
