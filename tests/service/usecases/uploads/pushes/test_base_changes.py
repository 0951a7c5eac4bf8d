"""A pull request that is to be merged into another branch: its result was for another base."""

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.errors import GitHubError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, open_runner_jobs
from perfledger_service.usecases.jobs.runner_queue import queue_job
from perfledger_service.usecases.uploads.comment_and_check import post_report
from perfledger_service.usecases.uploads.machine_classes import work_at
from perfledger_service.usecases.uploads.pushes import (
    receive_base_change,
)
from perfledger_service.usecases.uploads.retry import due_work
from perfledger_service.values.upload_views import UploadStatus
from tests.service.usecases.uploads.pushes.conftest import HEAD_SHA, HOUR, NEW_BASE, OLD_BASE


def test_a_result_of_another_base_is_not_green_any_more(change):
    change.retarget()

    assert change.check == ("in_progress", None)
    assert "pending until" in change.comment
    assert "another base than the pull request has now" in change.comment
    refused = change.upload(change.green.id)
    assert refused.status is UploadStatus.REFUSED
    assert "another base" in refused.reason


def test_what_nobody_measures_against_the_new_base_is_not_measured(change):
    _, at_deadline = change.retarget()
    change.now = at_deadline.due_at
    change.post(at_deadline)

    assert change.check == ("completed", "failure")
    assert "no report arrived by its deadline; its result compares with another" in change.comment


def test_a_result_of_the_new_base_counts(change):
    change.retarget()
    change.now += HOUR
    change.report(NEW_BASE, ratio=1.2)

    assert change.check == ("completed", "failure")
    assert "another base" not in change.comment


def test_a_run_of_before_the_change_that_is_run_again_does_not_count(change):
    change.retarget()
    change.now += HOUR
    again = change.report(OLD_BASE)

    assert again.status is UploadStatus.REFUSED
    assert change.check == ("in_progress", None)


def test_a_change_that_no_webhook_told_of_is_noticed_at_the_next_post(change):
    change.retarget(is_delivered=False)
    again = change.report(OLD_BASE)

    assert again.status is change.upload(change.green.id).status is UploadStatus.REFUSED
    assert change.check == ("in_progress", None)


@pytest.mark.parametrize("is_delivered", [True, False])
def test_a_base_changed_before_any_result_refuses_that_of_the_earlier_one(opened, is_delivered):
    opened.at_github.open_pull(base_ref="release")
    if is_delivered:
        assert opened.receive() == ((), "")
    else:
        for event, created_at in (("base_ref_changed", opened.now), ("labeled", opened.now + HOUR)):
            fields = {"number": 7, "event": event, "created_at": created_at.isoformat()}
            opened.at_github.tell("events", fields)
    opened.now += HOUR
    upload = opened.report(OLD_BASE)

    assert upload.status is UploadStatus.REFUSED
    assert opened.check == ("in_progress", None)
    [at_deadline] = opened.later_checks
    assert at_deadline.due_at > opened.now
    opened.now = at_deadline.due_at
    opened.post(at_deadline)
    assert opened.check == ("completed", "failure")
    opened.report(NEW_BASE)
    assert opened.check == ("completed", "success")


def test_a_pull_request_whose_base_never_changed_may_compare_with_another_commit(opened):
    opened.report("f" * 40)

    assert opened.check == ("completed", "success")


def test_a_posted_result_counts_when_the_new_base_takes_in_commits_of_the_head(change):
    [at_once, _] = change.retarget()
    change.now += HOUR
    change.report(NEW_BASE)
    moved_on = "9" * 40
    for base, head, merge_base in (
        ("release", HEAD_SHA, moved_on),
        (moved_on, NEW_BASE, NEW_BASE),
    ):
        comparison = {"base": base, "head": head, "merge_base": merge_base}
        change.at_github.tell("comparisons", comparison)
    assert change.post(at_once) == ()

    assert change.check == ("completed", "success")
    late_class = change.report(NEW_BASE)  # measured before the branch moved on
    assert late_class.status is UploadStatus.POSTED


def test_a_posted_result_does_not_count_when_the_new_base_was_rewritten(change):
    [at_once, _] = change.retarget()
    change.now += HOUR
    change.report(NEW_BASE)
    rewritten = {"base": "release", "head": HEAD_SHA, "merge_base": "9" * 40}
    change.at_github.tell("comparisons", rewritten)
    [at_deadline] = change.post(at_once)

    assert change.check == ("in_progress", None)
    change.now = at_deadline.due_at
    change.post(at_deadline)
    assert change.check == ("completed", "failure")


def test_a_change_noticed_at_a_deadline_has_a_deadline_of_its_own(change):
    change.retarget(is_delivered=False)
    [at_deadline] = change.post(work_at(change.green.head, change.now))

    assert change.check == ("in_progress", None)
    assert at_deadline.due_at > change.now
    change.now = at_deadline.due_at
    assert change.post(at_deadline) == ()
    assert change.check == ("completed", "failure")


def test_a_later_result_of_the_earlier_base_does_not_make_one_of_the_new_base_late(change):
    change.retarget(is_delivered=False)
    measured_at = change.green.measured_at - HOUR
    new = change.report(NEW_BASE, measured_at=measured_at)

    assert new.status is UploadStatus.POSTED
    assert change.upload(change.green.id).status is UploadStatus.REFUSED
    assert change.check == ("completed", "success")


def test_a_late_result_is_refused_and_the_earlier_bases_with_it(change):
    change.retarget()
    change.now += HOUR
    newest = change.report(NEW_BASE)
    late = change.report(NEW_BASE, measured_at=newest.measured_at - HOUR / 2)

    assert late.status is UploadStatus.REFUSED
    assert "newer result" in late.reason
    assert change.check == ("completed", "success")


def test_results_that_were_refused_are_not_green_after_a_post_that_github_did_not_take(change):
    change.retarget(is_delivered=False)
    change.at_github.fail_next(path="/check-runs", status=503, count=10)
    with pytest.raises(GitHubError) as failure:
        change.report(OLD_BASE)
    assert failure.value.is_transient
    assert change.check == ("completed", "success")  # as posted an hour ago
    change.at_github.server.state.faults.clear()

    [at_once] = post_report(change.engine, f"{change.uploads:032x}", **change.posting())
    [at_deadline] = change.post(at_once)

    assert change.check == ("in_progress", None)
    change.now = at_deadline.due_at
    change.post(at_deadline)
    assert change.check == ("completed", "failure")


def test_a_deadline_is_known_after_a_post_that_github_did_not_take(change):
    change.retarget(is_delivered=False)
    check = work_at(change.green.head, change.now)
    change.at_github.fail_next(path="/check-runs", status=503, count=10)
    with pytest.raises(GitHubError):
        change.post(check)
    change.at_github.server.state.faults.clear()
    [at_deadline] = change.post(check)

    assert at_deadline.due_at > change.now
    assert change.check == ("in_progress", None)


def test_a_rerun_after_a_change_that_no_webhook_told_of_is_against_the_new_base(change):
    change.retarget(is_delivered=False)
    pull_request = change.github.pull_request("octo/models", 7)

    assert change.rerun_base(pull_request, change.green.head) == NEW_BASE


def test_branches_with_the_same_common_commit_leave_the_result_as_it_is(change):
    comparison = {"base": "release", "head": HEAD_SHA, "merge_base": OLD_BASE}
    change.at_github.tell("comparisons", comparison)
    change.retarget()

    assert change.check == ("completed", "success")
    assert change.upload(change.green.id).status is UploadStatus.POSTED


def test_a_base_that_is_changed_back_has_its_result_back(change):
    change.retarget()
    change.now += HOUR
    change.retarget("main", before_ref="release")
    [due] = due_work(change.engine, now=change.now)
    post_report(change.engine, due.upload_id, **change.posting())

    assert change.check == ("completed", "success")
    assert due.upload_id == change.green.id
    assert "another base" not in change.comment


def test_a_repeated_delivery_changes_nothing(change):
    change.retarget()
    change.now += HOUR
    change.report(NEW_BASE)
    for check in change.receive()[0]:
        change.post(check)

    assert change.check == ("completed", "success")


def test_jobs_against_the_earlier_base_end_and_a_rerun_is_against_the_new_one(change):
    head = change.green.head
    with write_session(change.engine) as session:
        job = NewRunnerJob(
            key="1",
            kind=RunnerJobKind.RERUN,
            machine_class="*",
            base_sha=OLD_BASE,
            head_sha=HEAD_SHA,
            pull_request=7,
        )
        queue_job(session, head.project_id, job, now=change.now)
        session.commit()
    pull_request = change.github.pull_request("octo/models", 7)
    assert change.rerun_base(pull_request, head) == ""
    change.retarget()

    with read_session(change.engine) as session:
        assert open_runner_jobs(session, head.project_id) == ()
    pull_request = change.github.pull_request("octo/models", 7)
    assert change.rerun_base(pull_request, head) == NEW_BASE


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"head_sha": "HEAD"}, "no such pull request or commit"),
        ({"before_ref": ""}, "no such pull request or commit"),
        ({"head_sha": "c" * 40}, ""),  # it is recorded: a result may be under way
    ],
)
def test_a_change_of_what_has_no_check_is_left(change, values, reason):
    assert change.receive(**values) == ((), reason)
    unknown = receive_base_change(
        change.engine,
        "octo/unknown",
        1,
        7,
        head_sha=HEAD_SHA,
        before_ref="main",
        base_ref="release",
        now=change.now,
    )
    assert unknown[0] == ()
