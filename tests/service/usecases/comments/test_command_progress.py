"""How jobs stand that a comment asked for: one answer, which is edited."""

from datetime import timedelta

import pytest

from perfledger.records import Revision
from perfledger_runners.jobs.runner_job import RunnerJobState
from perfledger_service.errors import GitHubError
from perfledger_service.store.database import read_session
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.comments import job_commands
from perfledger_service.usecases.jobs.job import limit_jobs
from perfledger_service.usecases.jobs.runner_queue import (
    cancel_job,
    finish_without_bundle,
)
from perfledger_service.usecases.uploads.merges import receive_closing
from perfledger_service.usecases.uploads.pushes import receive_push
from perfledger_service.values.jobs.policies import JobBudget
from perfledger_service.values.upload_views import UploadSender

CPU = "cpu:Test CPU:1"
RERUN, BISECT = "/perfledger rerun", "/perfledger bisect"
BASE_SHA, HEAD_SHA, NEWER_SHA = "a" * 40, "b" * 40, "c" * 40


pytestmark = pytest.mark.usefixtures("runner")


@pytest.mark.slow(ci_only=True)
def test_one_answer_is_edited_until_it_has_the_result(take, discussion, make_bundle, answer_job):
    discussion.say("alice", RERUN)
    job = take()
    assert "running on `box`" in discussion.answer
    upload = answer_job(job, make_bundle(ratio=1.0, seed=5))
    discussion.post(upload.id)
    answer = discussion.answer

    assert f"done: [Performance unchanged](https://ledger.example/runs/{upload.id})" in answer
    assert discussion.check["conclusion"] == "success"
    assert discussion.follow() == ()
    assert discussion.follow() == ()  # it waits for nothing more
    edits = [one["edits"] for one in discussion.at_github.comments if "answer:" in one["body"]]
    assert edits == [2]


def test_nothing_is_edited_while_nothing_changes(discussion):
    discussion.say("alice", RERUN)
    for _ in range(3):
        assert discussion.follow() == ()

    assert not any(one.startswith("PATCH issues/comments") for one in discussion.at_github.requests)


def test_a_lost_edit_is_made_again_and_an_extra_answer_deleted(take, discussion):
    discussion.say("alice", RERUN)
    discussion.at_github.add_comment("perfledger[bot]", discussion.answers[0])
    take()
    discussion.at_github.fail_next(method="PATCH", count=9, path="/comments", status=403)
    with pytest.raises(GitHubError):
        discussion.follow()
    discussion.at_github.server.state.faults.clear()

    assert "running on" in discussion.answer


def test_an_answer_that_somebody_deleted_is_not_written_again(take, discussion):
    discussion.say("alice", RERUN)
    for one in discussion.at_github.comments:
        if "answer:" in one["body"]:
            del discussion.at_github.state["comments"][str(one["id"])]
    take()
    discussion.follow()

    assert discussion.answers == []


def test_a_runner_that_is_absent_for_a_day_is_told(discussion):
    discussion.say("alice", RERUN)
    discussion.now += timedelta(days=1, seconds=1)

    assert "in the queue, but no runner of this machine class" in discussion.answer


def test_a_budget_that_is_used_up_is_told_with_its_end(take, discussion):
    limit_jobs(discussion.engine, "octo/models", JobBudget(device_minutes=1.0))
    discussion.say("alice", RERUN)

    assert "the budget of this project's jobs is used up until 2026-11-23" in discussion.answer
    assert take() is None


def test_the_commit_that_a_bisection_found_is_linked_and_tells_nothing_of_the_branch(
    take, discussion, make_bundle, answer_job
):
    discussion.say("alice", BISECT)
    bundle = make_bundle(
        pull_request=None, base=Revision(sha="e" * 40), head=Revision(sha="f" * 40)
    )
    upload = answer_job(take(), bundle)

    url = f"https://ledger.example/runs/{upload.id}"
    assert f"found `ffffffffffff`: [Performance regressed]({url})" in discussion.answer
    with read_session(discussion.engine) as session:
        assert upload_by_id(session, upload.id).sender is UploadSender.OTHER_RUN


def test_a_bisection_without_a_single_commit_says_what_it_found(take, discussion, project):
    discussion.say("alice", BISECT)
    job = take()
    finish_without_bundle(
        discussion.engine,
        project,
        job.id,
        "1" * 32,
        reason="@octo: the ends do not differ",
        now=discussion.now,
    )

    assert "done: `@octo`: the ends do not differ" in discussion.answer


def test_a_cancelled_job_says_why(jobs, discussion, project):
    discussion.say("alice", RERUN)
    [job] = jobs()
    cancel_job(discussion.engine, project, job.id, reason="maintenance", now=discussion.now)

    assert "without a result: maintenance" in discussion.answer


def test_two_replicas_follow_a_command_once(take, discussion):
    discussion.say("alice", RERUN)
    take()
    lines_seen = []
    for _ in range(2):
        job_commands.follow_commands(
            discussion.engine, public_url="https://ledger.example", now=discussion.now
        )
        lines_seen.append(discussion.command_work())

    assert [work.edition for [work] in lines_seen] == [1, 1]
    assert len({work.id for [work] in lines_seen}) == 1


def test_a_push_cancels_the_jobs_of_the_commit_before_and_no_others(jobs, discussion):
    discussion.say("alice", RERUN)
    push = {"now": discussion.now, "head_sha": NEWER_SHA}
    stale = receive_push(discussion.engine, "octo/models", 1296269, 7, before_sha="d" * 40, **push)
    assert stale == ""
    assert [job.state for job in jobs()] == [RunnerJobState.QUEUED]
    receive_push(discussion.engine, "octo/models", 1296269, 7, before_sha=HEAD_SHA, **push)

    assert [job.state for job in jobs()] == [RunnerJobState.CANCELLED]
    assert (
        f"without a result: the pull request has a newer commit, {NEWER_SHA}" in discussion.answer
    )


@pytest.mark.parametrize("merged_sha", [None, NEWER_SHA])
def test_a_closed_pull_request_has_no_jobs(jobs, discussion, merged_sha):
    discussion.say("alice", RERUN)
    receive_closing(
        discussion.engine, "octo/models", 1296269, 7, merged_sha=merged_sha, now=discussion.now
    )

    assert [job.state for job in jobs()] == [RunnerJobState.CANCELLED]
    assert "without a result: the pull request is closed" in discussion.answer
