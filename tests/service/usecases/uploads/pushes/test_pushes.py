"""Which deliveries of a push are received, and what each cancels."""

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, open_runner_jobs
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.jobs.runner_queue import queue_job
from perfledger_service.usecases.uploads.pushes import receive_push

OLD_SHA, HEAD_SHA, NEWER_SHA = "a" * 40, "b" * 40, "c" * 40


@pytest.fixture
def open_heads(any_engine, now):
    """Queue a job of each of two heads, and return those that are open."""
    with write_session(any_engine) as session:
        project_id = project_for(session, "octo/models", now=now).id
        for sha in (HEAD_SHA, NEWER_SHA):
            job = NewRunnerJob(
                key=sha,
                kind=RunnerJobKind.RERUN,
                machine_class="*",
                head_sha=sha,
                pull_request=7,
            )
            queue_job(session, project_id, job, now=now)
        session.commit()

    def heads():
        with read_session(any_engine) as session:
            return {job.head_sha for job in open_runner_jobs(session, project_id)}

    return heads


@pytest.fixture
def receive(any_engine, now):
    def receive(repository, number, before_sha):
        values = {"before_sha": before_sha, "head_sha": NEWER_SHA, "now": now}
        return receive_push(any_engine, repository, 1, number, **values)

    return receive


@pytest.mark.parametrize(
    ("before_sha", "heads"), [(HEAD_SHA, {NEWER_SHA}), (OLD_SHA, {HEAD_SHA, NEWER_SHA})]
)
def test_a_push_cancels_what_was_queued_of_the_commit_before(
    open_heads, receive, before_sha, heads
):
    for _ in range(2):  # a delivery may come again
        assert receive("Octo/Models", 7, before_sha) == ""

    assert open_heads() == heads


@pytest.mark.parametrize(
    ("repository", "number", "before_sha"),
    [
        ("octo/unknown", 7, HEAD_SHA),
        ("octo/models", 0, HEAD_SHA),
        ("octo/models", 2**31, HEAD_SHA),
        ("octo/models", 7, "HEAD"),
    ],
)
def test_what_is_no_push_changes_nothing(open_heads, receive, repository, number, before_sha):
    assert receive(repository, number, before_sha)
    assert open_heads() == {HEAD_SHA, NEWER_SHA}
