"""Heads that moved without a webhook: their jobs and permissions end at the next poll."""

from datetime import timedelta

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.comments.fork_permissions import allow_head, is_allowed
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, open_runner_jobs
from perfledger_service.store.projects import project_for
from perfledger_service.store.uploads import CheckedHead
from perfledger_service.usecases.jobs.runner_queue import queue_job
from perfledger_service.usecases.uploads.followed_heads import (
    MAX_HEADS,
    POLL_INTERVAL,
    check_heads,
    followed_heads,
    heads_of_turn,
)

HEAD_SHA, NEWER_SHA = "b" * 40, "c" * 40


@pytest.fixture
def head(any_engine, at_github, now):
    """An open pull request's head of a fork that is allowed, and has a job."""
    at_github.open_pull(head_repository="mallory/models")
    with write_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
        head = CheckedHead(
            project_id=project.id, repository="octo/models", pull_request=7, head_sha=HEAD_SHA
        )
        allow_head(session, head, login="alice", allowed_at=now)
        for key, number in (("check", 7), ("nightly", None)):
            job = NewRunnerJob(
                key=key,
                kind=RunnerJobKind.RERUN,
                machine_class="*",
                head_sha=HEAD_SHA,
                pull_request=number,
            )
            queue_job(session, project.id, job, now=now)
        session.commit()
    return head


@pytest.fixture
def left(any_engine, head):
    """What is left: whether the head is allowed, and the keys of open jobs."""

    def left():
        with read_session(any_engine) as session:
            jobs = open_runner_jobs(session, head.project_id)
            return is_allowed(session, head), {job.key for job in jobs}

    return left


def test_a_head_that_is_the_newest_stays_allowed(any_engine, github, at_github, left, now):
    check_heads(any_engine, github, now=now + POLL_INTERVAL)

    assert left() == (True, {"check", "nightly"})
    assert at_github.requests == ["GET pulls/7"]  # once for the job and the permission


@pytest.mark.parametrize("change", [{"head_sha": NEWER_SHA}, {"state": "closed"}])
def test_what_was_pushed_over_or_closed_ends(any_engine, github, at_github, left, now, change):  # noqa: PLR0917 - fixtures
    at_github.open_pull(**change)
    for _ in range(2):
        check_heads(any_engine, github, now=now + POLL_INTERVAL)

    assert left() == (False, {"nightly"})
    assert followed_heads(any_engine) == ()
    assert at_github.requests == ["GET pulls/7"]


def test_where_github_does_not_answer_nothing_ends(any_engine, github, at_github, left, now):
    at_github.open_pull(state="closed")
    at_github.fail_next(path="/pulls/7", status=403)
    check_heads(any_engine, github, now=now + POLL_INTERVAL)

    assert left() == (True, {"check", "nightly"})


def test_of_many_heads_each_has_its_turn(now):
    heads = [
        CheckedHead(project_id=1, repository="o/r", pull_request=number, head_sha=HEAD_SHA)
        for number in range(3 * MAX_HEADS + 1)
    ]
    turns = [heads_of_turn(heads, now=now + POLL_INTERVAL * number) for number in range(5)]

    assert all(len(turn) == MAX_HEADS for turn in turns)
    assert {head for turn in turns for head in turn} == set(heads)
    assert heads_of_turn(heads[:3], now=now + timedelta(1)) == tuple(heads[:3])
