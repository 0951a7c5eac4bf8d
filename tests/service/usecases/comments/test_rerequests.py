"""GitHub's own "Re-run" button: its check does not stay queued, and is measured again."""

import pytest

from perfledger_service.store.database import write_session
from perfledger_service.store.heads.merge_groups import MergeGroup, put_merge_group
from perfledger_service.store.uploads import MERGE_GROUP
from perfledger_service.usecases.comments.commands import carry_out
from perfledger_service.usecases.comments.rerequests import Rerequest, receive_rerequest
from perfledger_service.usecases.uploads.comment_and_check import repost_reports
from perfledger_service.usecases.uploads.machine_classes import head_of_work

HEAD_SHA, NEWER_SHA = "b" * 40, "c" * 40


@pytest.fixture
def press(discussion):
    """Have somebody press the button of a commit's check, and do what follows."""

    def press(login="alice", head_sha=HEAD_SHA, body=b"1"):
        for check in discussion.at_github.checks:
            check.update(status="queued", conclusion=None)
        rerequest = Rerequest(
            repository="octo/models", repository_id=1296269, head_sha=head_sha, login=login
        )
        receipt = receive_rerequest(discussion.engine, rerequest, body=body, now=discussion.now)
        posting = {
            "pull_requests": discussion.github,
            "reports": discussion.reports,
            "public_url": "https://ledger.example",
        }
        for check in receipt.checks:
            head = head_of_work(discussion.engine, check)
            repost_reports(discussion.engine, head, **posting, now=discussion.now)
        for command in receipt.commands:
            carry_out(discussion.engine, command.command_id, **posting, now=lambda: discussion.now)
        return receipt

    return press


@pytest.mark.usefixtures("runner")
def test_the_check_has_its_result_again_and_a_runner_measures_the_commit(press, discussion, jobs):
    press()
    press()

    assert discussion.check["conclusion"] == "failure"
    [job] = jobs()
    assert (job.head_sha, job.pull_request) == (HEAD_SHA, 7)
    assert job.requested_by == "alice, by a label or button of GitHub's"
    assert "in the queue, the next one" in discussion.answer


@pytest.mark.usefixtures("project")
def test_without_a_runner_the_answer_says_how_to_measure_again(press, discussion, jobs):
    press()

    assert discussion.check["conclusion"] == "failure"
    assert jobs() == ()
    assert "**Re-run jobs**" in discussion.answer


@pytest.mark.usefixtures("runner")
def test_who_may_not_write_and_programs_have_nothing_measured(press, discussion, jobs):
    press("mallory")
    press("", body=b"2")

    assert jobs() == ()
    assert "needs write access" in discussion.answer
    assert discussion.check["conclusion"] == "failure"


@pytest.mark.usefixtures("runner")
def test_the_button_of_an_older_commit_does_not_measure_the_newest(press, discussion, jobs):
    discussion.at_github.open_pull(head_sha=NEWER_SHA)
    press()

    assert jobs() == ()
    assert "bbbbbbb" in discussion.answer
    assert "is not the newest commit" in discussion.answer


@pytest.mark.usefixtures("project")
def test_the_check_of_a_merge_group_is_posted_again(press, discussion):
    group = MergeGroup(head_sha=NEWER_SHA, base_sha="a" * 40, pull_request=7)
    with write_session(discussion.engine) as session:
        put_merge_group(session, 1, group, now=discussion.now)
        session.commit()
    receipt = press(head_sha=NEWER_SHA)

    assert [one.pull_request for one in receipt.checks] == [MERGE_GROUP]
    assert receipt.commands == ()


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("head_sha", ["HEAD", "d" * 40])
def test_what_has_no_check_has_none_to_run_again(press, head_sha):
    receipt = press(head_sha=head_sha)

    assert receipt.checks == receipt.commands == ()
    assert receipt.reason
