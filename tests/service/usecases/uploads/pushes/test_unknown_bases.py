"""What GitHub does not say of a pull request's base, or does not take, makes nothing green."""

import pytest
from sqlalchemy import update

from perfledger_service.errors import GitHubError
from perfledger_service.store.database import write_session
from perfledger_service.store.heads.pull_request_bases import PullRequestBaseRow
from perfledger_service.usecases.uploads.comment_and_check import post_report
from perfledger_service.usecases.uploads.machine_classes import work_at
from perfledger_service.usecases.uploads.retry import due_work
from perfledger_service.values.upload_views import UploadStatus
from tests.service.usecases.uploads.pushes.conftest import (
    HOUR,
    NEW_BASE,
    NEXT_HEAD,
    OLD_BASE,
)


@pytest.mark.parametrize("status", [403, 404])
def test_if_github_lists_no_events_the_first_result_counts(opened, status):
    opened.at_github.fail_next(path="/events", status=status, count=10)
    opened.report(OLD_BASE)

    assert opened.check == ("completed", "success")


def test_if_github_lists_no_events_a_first_result_of_another_base_does_not_count(opened):
    opened.at_github.open_pull(base_ref="release")
    opened.at_github.fail_next(path="/events", status=403, count=10)
    upload = opened.report(OLD_BASE)

    assert upload.status is UploadStatus.REFUSED
    assert opened.check == ("in_progress", None)
    opened.now += HOUR
    opened.report(NEW_BASE)
    assert opened.check == ("completed", "success")


def test_a_pull_request_of_which_github_told_needs_no_events(opened):
    assert opened.receive_opening(base_ref="main") == ""
    opened.at_github.fail_next(path="/events", status=403, count=10)
    upload = opened.report("f" * 40)  # right: the run's clone was shallow

    assert upload.status is UploadStatus.POSTED
    assert opened.check == ("completed", "success")


def test_a_late_delivery_of_an_opening_changes_nothing(change):
    change.retarget()
    assert change.receive_opening(base_ref="main") == ""
    again = change.report(OLD_BASE)

    assert again.status is UploadStatus.REFUSED
    assert change.check == ("in_progress", None)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"head_sha": "HEAD"}, "no such pull request or commit"),
        ({"base_ref": ""}, "no such pull request or commit"),
        ({"repository": "octo/unknown"}, "octo/unknown"),
    ],
)
def test_an_opening_of_what_is_not_known_is_left(opened, values, reason):
    assert reason in opened.receive_opening(**values)


def test_if_github_lists_no_events_and_no_commits_a_first_result_does_not_count(opened):
    opened.at_github.fail_next(path="/events", status=403, count=10)
    opened.at_github.fail_next(path="/compare/", status=403, count=10)
    upload = opened.report(OLD_BASE)

    assert upload.status is UploadStatus.REFUSED
    assert opened.check == ("in_progress", None)


@pytest.mark.parametrize("status", [403, 404])
def test_if_github_does_not_say_what_to_compare_with_a_push_settles_it(change, status):
    change.at_github.fail_next(path="/compare/", status=status, count=20)
    change.retarget()
    change.now += HOUR
    again = change.report(OLD_BASE)  # an old run of GitHub Actions that is run again
    other = change.report(NEW_BASE)

    assert again.status is other.status is UploadStatus.REFUSED
    assert change.check == ("in_progress", None)
    assert "give the App the permission contents" in change.comment
    change.at_github.open_pull(base_ref="release", head_sha=NEXT_HEAD)
    pushed = change.report(NEW_BASE, head_sha=NEXT_HEAD)
    assert pushed.status is UploadStatus.POSTED
    assert [one["conclusion"] for one in change.at_github.checks] == [None, "success"]


def test_a_push_settles_a_change_that_was_stored_before_heads_were_recorded(change):
    change.at_github.fail_next(path="/compare/", status=403, count=20)
    change.retarget()
    with write_session(change.engine) as session:
        session.exec(update(PullRequestBaseRow).values(changed_head=""))
        session.commit()
    change.now += HOUR
    again = change.report(OLD_BASE)
    change.at_github.open_pull(base_ref="release", head_sha=NEXT_HEAD)
    pushed = change.report(NEW_BASE, head_sha=NEXT_HEAD)

    assert again.status is UploadStatus.REFUSED
    assert pushed.status is UploadStatus.POSTED


def test_a_result_counts_once_github_says_what_to_compare_with(change):
    change.at_github.fail_next(path="/compare/", status=403, count=2)
    change.retarget()
    change.now += HOUR
    new = change.report(NEW_BASE)
    assert new.status is UploadStatus.REFUSED
    change.post(work_at(change.green.head, change.now))
    [due] = due_work(change.engine, now=change.now)
    post_report(change.engine, due.upload_id, **change.posting())

    assert due.upload_id == new.id
    assert change.check == ("completed", "success")


def test_a_posted_result_of_the_new_base_stays_when_github_no_longer_says_which_it_is(change):
    [at_once, _] = change.retarget()
    change.now += HOUR
    change.report(NEW_BASE)
    change.at_github.fail_next(path="/compare/", status=403, count=10)
    change.post(at_once)

    assert change.check == ("completed", "success")


def test_a_locked_conversation_leaves_the_deadlines_and_the_refusal(change):
    change.retarget(is_delivered=False)
    change.at_github.fail_next(path="/comments", status=403, count=10)
    change.at_github.fail_next(method="PATCH", path="/issues/comments", status=403, count=10)
    again = change.report(OLD_BASE)

    assert again.status is UploadStatus.REFUSED
    assert change.check == ("in_progress", None)
    [at_deadline] = change.later_checks
    change.now += HOUR
    assert change.post(work_at(change.green.head, change.now)) == (at_deadline,)
    change.now = at_deadline.due_at
    change.post(at_deadline)
    assert change.check == ("completed", "failure")


def test_a_comment_on_a_result_that_counts_is_attempted_again_after_its_check_is_posted(change):
    change.retarget()
    change.now += HOUR
    change.at_github.fail_next(path="/comments", status=403, count=10)
    with pytest.raises(GitHubError, match="403"):
        change.report(NEW_BASE)

    assert change.check == ("completed", "success")
