"""Re-runs and bisections that comments ask for: what is queued, and one answer that is edited."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Side
from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.errors import GitHubError, TooManyRequestsError
from perfledger_service.store.comments.commands import CommandStatus
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.projects import project_named
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.comments import job_commands
from perfledger_service.usecases.comments.job_commands import queue_requested
from perfledger_service.usecases.jobs.runner_queue import (
    fail_job,
)
from perfledger_service.usecases.uploads.machine_classes import announce_classes
from perfledger_service.usecases.uploads.pushes import receive_push
from perfledger_service.values.upload_views import UploadSender

CPU = "cpu:Test CPU:1"
RERUN, BISECT = "/perfledger rerun", "/perfledger bisect"
BASE_SHA, HEAD_SHA, NEWER_SHA = "a" * 40, "b" * 40, "c" * 40


pytestmark = pytest.mark.usefixtures("runner")


def test_a_rerun_is_queued_with_the_commits_and_classes_of_the_check(jobs, discussion):
    command = discussion.say("alice", RERUN)

    [job] = jobs()
    assert (job.kind, job.machine_class) == (RunnerJobKind.RERUN, CPU)
    assert (job.base_sha, job.head_sha, job.pull_request) == (BASE_SHA, HEAD_SHA, 7)
    assert (job.workloads, job.allows_fork) == ((), False)
    assert command.status is CommandStatus.WAITING
    assert f"- `{CPU}`: in the queue, the next one" in discussion.answer


def test_a_command_that_is_carried_out_again_queues_nothing_new(jobs, discussion):
    receipt = discussion.receive("alice", RERUN)
    discussion.at_github.fail_next(method="POST", path="/comments", drop="after")
    with pytest.raises(GitHubError):
        discussion.carry_out(receipt)
    for _ in range(3):
        discussion.carry_out(receipt)

    assert len(jobs()) == 1
    assert len(discussion.answers) == 1


@pytest.mark.slow(ci_only=True)
def test_a_second_comment_waits_for_the_job_that_is_queued(take, jobs, discussion):
    discussion.say("alice", RERUN)
    discussion.say("alice", RERUN)
    assert len(jobs()) == 1
    assert len(discussion.answers) == 2
    finish_job = take()
    fail_job(
        discussion.engine,
        project_of(discussion),
        finish_job.id,
        "1" * 32,
        reason="out of `memory`",
        is_final=True,
        now=discussion.now,
    )
    discussion.follow()
    assert all("without a result: out of" in one for one in discussion.answers)
    discussion.say("alice", RERUN)
    assert len(jobs()) == 2


def project_of(discussion):
    with read_session(discussion.engine) as session:
        return project_named(session, "octo/models")


@pytest.mark.parametrize(
    ("login", "pull", "reason"),
    [
        ("mallory", {}, "this needs write access"),
        ("alice", {"state": "closed"}, "`#7` is closed"),
        ("alice", {"head_repository": "mallory/models"}, " a fork"),
        ("alice", {"head_repository": None}, " a fork"),  # it was deleted
    ],
)
def test_what_may_not_be_measured_has_an_answer_and_no_job(jobs, discussion, login, pull, reason):
    discussion.at_github.open_pull(**pull)
    for command in (RERUN, BISECT):
        discussion.say(login, command)

    assert [reason in answer for answer in discussion.answers] == [True, True]
    assert jobs() == ()


def test_without_a_runner_nothing_is_queued_and_the_answer_says_how(jobs, discussion):
    discussion.now += timedelta(days=2)
    discussion.say("alice", RERUN)

    answer = discussion.answer
    assert f"Not done on `{CPU}`: no runner of this machine class" in answer
    assert "**Re-run jobs**" in answer
    assert jobs() == ()


def test_a_class_without_a_runner_is_named_beside_the_others(jobs, discussion):
    upload = discussion.head()
    later = discussion.now + timedelta(hours=1)
    announce_classes(discussion.engine, upload, ("tpu:*:4",), deadline=later, now=discussion.now)
    discussion.say("alice", RERUN)

    assert [job.machine_class for job in jobs()] == [CPU]
    assert "- `tpu:*:4`: not queued: no runner" in discussion.answer


def test_a_full_queue_is_told(jobs, discussion, monkeypatch):
    def refuse(*_, **__):
        msg = "1000 jobs wait for runners of this project: the limit"
        raise TooManyRequestsError(msg)

    monkeypatch.setattr(job_commands, "queue_job", refuse)
    discussion.say("alice", RERUN)

    assert "1000 jobs wait for runners" in discussion.answer
    assert jobs() == ()


def test_before_any_result_a_rerun_is_for_the_runners_that_there_are(jobs, discussion):
    discussion.at_github.open_pull(number=8, head_sha=NEWER_SHA)
    comment = discussion.at_github.add_comment("alice", RERUN, number=8)
    discussion.say("alice", RERUN, number=8)

    [job] = jobs()
    assert comment["number"] == job.pull_request == 8
    assert (job.machine_class, job.base_sha, job.head_sha) == (CPU, "", NEWER_SHA)


def test_a_new_head_is_measured_where_the_last_one_was(jobs, discussion):
    discussion.at_github.open_pull(head_sha=NEWER_SHA)
    discussion.say("alice", RERUN)

    [job] = jobs()
    assert (job.machine_class, job.base_sha, job.head_sha) == (CPU, "", NEWER_SHA)


def test_a_bisection_is_about_what_regressed(jobs, discussion):
    discussion.say("alice", BISECT)

    [job] = jobs()
    assert (job.kind, job.workloads, job.metric) == (
        RunnerJobKind.BISECTION,
        ("gpt:step",),
        STEP_TIME.name,
    )
    assert (job.base_sha, job.head_sha, job.pull_request) == (BASE_SHA, HEAD_SHA, 7)
    assert "Bisection of `gpt:step` up to `bbbbbbbbbbbb`" in discussion.answer


def test_a_workload_that_the_result_lacks_is_answered_with_those_that_it_has(jobs, discussion):
    discussion.say("alice", f"{BISECT} vit:step")

    answer = discussion.answer
    assert "`vit:step` is not a workload of the newest result" in answer
    assert "- `gpt:step`" in answer
    assert jobs() == ()


@pytest.mark.slow(ci_only=True)
def test_of_several_regressions_one_is_to_be_named(jobs, regressed, discussion):
    regressed("a:f", "b:f", upload_id="2" * 32, seed=1)
    discussion.say("alice", BISECT)
    assert "name one of these" in discussion.answer
    assert jobs() == ()
    discussion.say("alice", f"{BISECT} b:f")

    assert [job.workloads for job in jobs()] == [("b:f",)]


@pytest.mark.slow(ci_only=True)
def test_where_nothing_regressed_a_bisection_needs_a_name(regressed, discussion, jobs):
    regressed(upload_id="2" * 32, seed=1, ratio=1.0)
    discussion.say("alice", BISECT)
    assert "nothing regressed" in discussion.answer
    discussion.say("alice", f"{BISECT} gpt:step")

    assert len(jobs()) == 1


def test_a_bisection_is_not_of_a_commit_that_is_no_longer_the_head(jobs, discussion):
    discussion.at_github.open_pull(head_sha=NEWER_SHA)
    discussion.say("alice", BISECT)

    answer = discussion.answer
    assert "he newest result is of bbbbbbbbbbbb, and the pull request is at cccccccccccc" in answer
    assert jobs() == ()


@pytest.mark.slow(ci_only=True)
def test_more_memory_alone_is_what_a_bisection_searches_for(
    jobs, regressed, discussion, make_bundle
):
    bundle = make_bundle(ratio=1.0)
    runs = tuple(
        replace(one, samples=one.samples | {PEAK_MEMORY.name: (2e6,)})
        if one.side is Side.HEAD
        else one
        for one in bundle.runs
    )
    regressed(upload_id="2" * 32, seed=1, ratio=1.0, runs=runs)
    discussion.say("alice", BISECT)

    assert [job.metric for job in jobs()] == [PEAK_MEMORY.name]


def test_a_refusal_queues_nothing(discussion, jobs):
    receipt = discussion.receive("alice", RERUN)
    requested = job_commands.RequestedJobs(refusal="Not done: no.\n")
    with write_session(discussion.engine) as session:
        command = discussion.stored(session, receipt)
        answer = queue_requested(command, requested, session, public_url="", now=discussion.now)

    assert answer == "Not done: no.\n"
    assert jobs() == ()


ALLOW = f"/perfledger allow {HEAD_SHA}"


@pytest.fixture
def fork(discussion):
    """The pull request comes from a fork of mallory, who opened it."""
    discussion.at_github.open_pull(head_repository="mallory/models")
    return discussion


@pytest.mark.slow(ci_only=True)
def test_a_fork_runs_only_the_commit_that_a_maintainer_allowed(jobs, fork):
    fork.say("alice", RERUN)
    assert f"`/perfledger allow {HEAD_SHA}`" in fork.answer
    assert jobs() == ()
    fork.say("alice", ALLOW)

    [job] = jobs()
    assert (job.head_sha, job.pull_request, job.allows_fork) == (HEAD_SHA, 7, True)
    assert "allowed until the next push" in fork.answers[-1]
    fork.say("alice", RERUN)
    assert len(jobs()) == 1


@pytest.mark.parametrize(
    ("login", "sha", "reason"),
    [
        ("mallory", HEAD_SHA, "needs write access"),  # the fork's author
        ("stranger", HEAD_SHA, "needs write access"),
        ("alice", NEWER_SHA, f"the newest commit is {HEAD_SHA}, not {NEWER_SHA}"),
        ("alice", HEAD_SHA[:12], "the whole hash"),
        ("alice", HEAD_SHA.upper(), "the whole hash"),
        ("alice", f"{HEAD_SHA} {NEWER_SHA}", "the whole hash"),
        ("alice", "HEAD", "the whole hash"),
    ],
)
def test_nobody_else_and_no_other_commit_is_allowed(jobs, fork, login, sha, reason):
    fork.say(login, f"/perfledger allow {sha}")

    assert reason.lower() in fork.answer.lower()
    assert jobs() == ()


def test_a_pull_request_of_the_repository_needs_no_permission(jobs, discussion):
    discussion.say("alice", ALLOW)

    assert "not from a fork" in discussion.answer
    assert jobs() == ()


def test_a_new_push_revokes_and_the_next_commit_needs_another_permission(jobs, fork):
    fork.say("alice", ALLOW)
    push(fork)
    assert [job.state for job in jobs()] == [RunnerJobState.CANCELLED]
    fork.at_github.open_pull(head_sha=NEWER_SHA, head_repository="mallory/models")
    fork.say("alice", RERUN)
    assert f"`/perfledger allow {NEWER_SHA}`" in fork.answers[-1]
    fork.at_github.open_pull(head_sha=HEAD_SHA, head_repository="mallory/models")
    fork.say("alice", RERUN)  # pushed back to what was allowed once

    assert f"`/perfledger allow {HEAD_SHA}`" in fork.answers[-1]
    assert len(jobs()) == 1


def push(fork):
    receive_push(
        fork.engine,
        "octo/models",
        1296269,
        7,
        before_sha=HEAD_SHA,
        head_sha=NEWER_SHA,
        now=fork.now,
    )


def test_a_push_between_a_permission_and_its_turn_revokes_it(jobs, fork):
    receipt = fork.receive("alice", ALLOW)
    push(fork)  # GitHub's API still has the commit before
    fork.carry_out(receipt)

    assert "replaced by a push" in fork.answer
    assert jobs() == ()


def test_a_permission_whose_comment_is_edited_or_delivered_again_is_none(jobs, fork):
    fork.say("alice", ALLOW)
    push(fork)
    body = f"/perfledger allow {NEWER_SHA}"
    comment = next(one for one in fork.at_github.comments if one["body"] == ALLOW)
    again = fork.receive_again(comment["id"], "alice", body)

    assert (again.work, again.is_repeated) == (None, True)
    assert len(jobs()) == 1


def test_a_maintainer_revokes_what_was_allowed(jobs, fork):
    fork.say("alice", ALLOW)
    fork.say("mallory", "/perfledger disallow")
    assert [job.state for job in jobs()] == [RunnerJobState.QUEUED]
    fork.now += timedelta(seconds=1)
    fork.say("alice", "/perfledger disallow")
    assert [job.state for job in jobs()] == [RunnerJobState.CANCELLED]
    fork.follow()
    assert any("without a result: alice no longer allows it" in one for one in fork.answers)
    fork.say("alice", "/perfledger disallow")

    assert "othing of this pull request was allowed" in fork.answers[-1]


def test_a_permission_that_waited_does_not_undo_a_later_revocation(jobs, fork):
    receipt = fork.receive("alice", ALLOW)
    fork.now += timedelta(seconds=1)
    fork.say("alice", "/perfledger disallow")
    fork.carry_out(receipt)

    assert any("t has since been revoked, or replaced by a push" in one for one in fork.answers)
    assert jobs() == ()


def test_a_commit_is_allowed_before_there_is_a_runner(jobs, fork):
    fork.now += timedelta(days=2)
    fork.say("alice", ALLOW)

    assert f"`{HEAD_SHA}` is allowed until the next push. Not done on" in fork.answer
    assert jobs() == ()


def test_no_other_commits_of_a_fork_are_bisected(jobs, fork):
    fork.say("alice", ALLOW)
    fork.say("alice", BISECT)

    assert "bisection runs many commits of a fork" in fork.answers[-1]
    assert [job.kind for job in jobs()] == [RunnerJobKind.RERUN]


def test_what_a_fork_measured_tells_nothing_of_the_branch(take, fork, make_bundle, answer_job):
    fork.say("alice", ALLOW)
    upload = answer_job(take(), make_bundle(ratio=0.1, seed=5))

    with read_session(fork.engine) as session:
        assert upload_by_id(session, upload.id).sender is UploadSender.OTHER_RUN
