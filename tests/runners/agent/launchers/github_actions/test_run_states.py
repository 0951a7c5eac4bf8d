"""Tests the words for a run's state."""

from datetime import UTC, datetime

import pytest

from perfledger_runners.launchers.github_actions.run_states import (
    end_of_failure,
    ending_reason,
    open_status,
)
from perfledger_runners.launchers.github_actions.workflow_runs import (
    WorkflowJob,
    WorkflowRun,
    WorkflowStep,
)
from perfledger_runners.launchers.launcher import SubmissionState

PAGE = "https://github.example/octo/models/actions/runs/5"


def a_run(status, conclusion=None):
    noon = datetime(2026, 11, 28, 12, tzinfo=UTC)
    return WorkflowRun(id=5, status=status, conclusion=conclusion, html_url=PAGE, created_at=noon)


def a_job(**values):
    return WorkflowJob(id=6, **values)


@pytest.mark.parametrize(
    ("status", "jobs", "reason"),
    [
        ("queued", (), ""),
        ("requested", (), ""),
        (None, (), ""),
        ("queued", (a_job(labels=("gpu", "h100")),), "no runner with gpu, h100 has taken it"),
        ("waiting", (a_job(labels=("gpu",)),), "it waits for an approval"),
        ("pending", (), "it waits for another run"),
    ],
)
def test_a_run_that_no_machine_has_waits(status, jobs, reason):
    submission_status = open_status(a_run(status), jobs)

    assert submission_status.state is SubmissionState.WAITING
    assert submission_status.reason.startswith(reason)


@pytest.mark.parametrize(
    ("jobs", "node"),
    [
        ((), PAGE),
        ((a_job(runner_name=None), a_job(runner_name="gpu\x1b7\n8")), f"gpu\ufffd7 8, {PAGE}"),
    ],
)
def test_a_run_is_on_its_runner_and_has_a_page(jobs, node):
    submission_status = open_status(a_run("in_progress"), jobs)

    assert (submission_status.state, submission_status.node) == (SubmissionState.RUNNING, node)


def test_a_failure_names_its_step():
    steps = (
        WorkflowStep(name="Measure", conclusion="success"),
        WorkflowStep(name="x", conclusion="failure"),
    )
    reason = ending_reason(a_run("completed", "failure"), (a_job(steps=steps), a_job()))

    assert reason == f"its run failed before the check ended, in step 'x' ({PAGE})"


@pytest.mark.parametrize(("conclusion", "word"), [("new", "as new"), (None, "as unknown")])
def test_an_ending_that_nobody_knows_is_told(conclusion, word):
    assert word in ending_reason(a_run("completed", conclusion), ())


def test_a_log_ends_with_its_last_error():
    log = (
        b"2026-11-28T12:00:00.0000000Z pip\n2026-11-28T12:00:01.0Z ##[error]no torch\n"
        b"2026-11-28T12:00:02.0Z Cleaning up orphan processes\n"
    )

    assert end_of_failure(log) == b"pip\n##[error]no torch"
    assert end_of_failure(b"no times\n") == b"no times\n"
