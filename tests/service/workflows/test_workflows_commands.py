"""The workflow of commands in comments, really running, with steps that say what was called."""

from datetime import UTC, datetime
from queue import Queue
from typing import Any

import pytest

from perfledger_service.errors import GitHubError
from perfledger_service.values.jobs.queued_work import QueuedAnswer, QueuedCommand, QueuedUpload
from perfledger_service.workflows import UploadWorkflow, WorkflowSteps

pytestmark = pytest.mark.slow

PATIENCE_S = 600
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
COMMAND = QueuedCommand(command_id=5, partition="o/r#7", due_at=NOON)


@pytest.fixture
def calls():
    """What was called, in order."""
    return Queue[Any]()


@pytest.fixture
def next_call(calls):
    return lambda: calls.get(timeout=PATIENCE_S)


@pytest.fixture
def launched(engine_url, calls):
    """Launch the workflow with a step that carries out commands."""
    launched_jobs = []

    def launch(carry_out):
        steps = WorkflowSteps(
            judge=lambda _: True,
            post=lambda upload_id: calls.put(("posted", upload_id)) or (),
            fail=lambda _, __: None,
            defer=lambda _, __, ___: None,
            deadlines=lambda _: (),
            post_check=lambda _: (),
            carry_out=carry_out,
            fail_command=lambda command_id, reason: calls.put(("failed", command_id, reason)),
        )
        jobs = UploadWorkflow(engine_url, steps, retry_interval_s=0.001, closing_s=30.0)
        jobs.launch()
        launched_jobs.append(jobs)
        return jobs

    yield launch
    for jobs in launched_jobs:
        jobs.close()


def work(upload_id):
    return QueuedUpload(upload_id=upload_id, partition="o/r#7")


@pytest.mark.slow(ci_only=True)
def test_a_command_is_carried_out_once_and_its_uploads_are_posted_again(calls, launched, next_call):
    def carry_out(command_id):
        calls.put(("command", command_id))
        return (work("9"),)

    jobs = launched(carry_out)
    for _ in range(3):
        jobs.enqueue_command(COMMAND)
    assert [next_call(), next_call()] == [("command", 5), ("posted", "9")]
    jobs.sweep([], [], [COMMAND])
    jobs.enqueue(work("1"))

    assert next_call() == ("posted", "1")
    assert calls.empty()


@pytest.mark.slow(ci_only=True)
def test_each_edition_of_an_answer_is_given_once(calls, launched, next_call):
    def carry_out(command_id):
        calls.put(("command", command_id))
        return ()

    jobs = launched(carry_out)
    editions = [
        QueuedAnswer(command_id=5, partition="o/r#7", due_at=NOON, edition=edition)
        for edition in (1, 2)
    ]
    jobs.sweep([], [], [COMMAND, *editions, *editions])
    jobs.enqueue(work("1"))

    assert [next_call() for _ in range(4)] == [("command", 5)] * 3 + [("posted", "1")]
    assert calls.empty()


def test_a_command_that_github_refuses_fails_with_the_reason(launched, next_call):
    def refuse(_):
        msg = "GitHub answered 403 to GET /x: no"
        raise GitHubError(msg, github_status=403)

    launched(refuse).enqueue_command(COMMAND)

    assert next_call() == ("failed", 5, "GitHub answered 403 to GET /x: no")
