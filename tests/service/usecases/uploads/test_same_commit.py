"""Pull requests with the same head commit share its check run: the worst of them decides."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.records import Revision
from perfledger_service.errors import GitHubError
from perfledger_service.store.heads.uploads import group_head
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads import same_commit
from perfledger_service.usecases.uploads.comment_and_check import post_report, repost_reports
from perfledger_service.usecases.uploads.machine_classes import announce_classes, head_of_work
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.same_commit import checks_to_post

OTHER_BASE = Revision(sha="e" * 40)
PUBLIC_URL = "https://ledger.example"


@pytest.fixture
def posting(github, now):
    return {
        "pull_requests": github,
        "reports": UploadReports(build_report),
        "public_url": PUBLIC_URL,
        "now": now,
    }


@pytest.fixture
def judge(engine, judged, make_bundle):
    """Judge a check of the commit, for a pull request or None, and return its upload."""

    def judge(pull_request, ratio, **values):
        number = pull_request or 0
        bundle = make_bundle(seed=number, ratio=ratio, pull_request=pull_request, **values)
        return judged(engine, bundle, upload_id=f"{number:032x}")

    return judge


@pytest.fixture
def report(engine, judge, posting):
    """Judge and post a check of the commit for a pull request, and return its upload."""

    def report(pull_request, ratio, **values):
        upload = judge(pull_request, ratio, **values)
        post_report(engine, upload.id, **posting)
        return upload

    return report


@pytest.mark.parametrize("order", [(7, 8), (8, 7)])
def test_a_green_pull_request_does_not_turn_anothers_red_check_green(at_github, report, order):
    for number in (7, 8):
        at_github.open_pull(number)
    for number in order:
        ratio, base = (1.2, {}) if number == 7 else (1.0, {"base": OTHER_BASE})
        report(number, ratio, **base)

    [check] = at_github.checks
    assert (check["status"], check["conclusion"]) == ("completed", "failure")
    assert len(at_github.comments) == 2


def test_the_check_names_the_other_pull_request_and_links_to_it(at_github, report):
    for number in (7, 8):
        at_github.open_pull(number)
    report(7, 1.2)
    report(8, 1.0, base=OTHER_BASE)

    [check] = at_github.checks
    assert check["output"]["title"].startswith("Pull request #7: Performance regressed")
    assert f"[Its page]({PUBLIC_URL}/octo/models/pull/7)" in check["output"]["summary"]


@pytest.mark.parametrize("order", [(7, 8), (8, 7)])
def test_the_comment_says_which_other_pull_request_decides_its_check(
    engine, at_github, judge, posting, order
):
    for number in (7, 8):
        at_github.open_pull(number)
    for number in order:
        ratio, base = (1.2, {}) if number == 7 else (1.0, {"base": OTHER_BASE})
        upload = judge(number, ratio, **base)
        for other in post_report(engine, upload.id, **posting):
            repost_reports(engine, head_of_work(engine, other), **posting)

    [red] = [one["body"] for one in at_github.comments if one["number"] == 7]
    [green] = [one["body"] for one in at_github.comments if one["number"] == 8]
    assert "The check of this commit is decided by pull request 7, which has the same" in green
    assert "There: Performance regressed" in green
    assert f"[Its page]({PUBLIC_URL}/octo/models/pull/7)" in green
    assert "decided by" not in red


def test_of_several_that_are_worse_the_comment_names_the_one_that_decides(at_github, report):
    for number in (7, 8, 9):
        at_github.open_pull(number)
    report(7, 1.2)
    report(9, 1.3)
    report(8, 1.0, base=OTHER_BASE)

    [green] = [one["body"] for one in at_github.comments if one["number"] == 8]
    assert green.count("is decided by pull request") == 1
    assert "decided by pull request 7," in green
    [check] = at_github.checks
    assert check["output"]["title"].startswith("Pull request #7: ")


@pytest.mark.parametrize("state", [{"state": "closed"}, {"head_sha": "c" * 40}])
def test_a_pull_request_that_is_closed_or_elsewhere_does_not_count(at_github, report, state):
    for number in (7, 8):
        at_github.open_pull(number)
    report(7, 1.2)
    at_github.open_pull(7, **state)
    report(8, 1.0, base=OTHER_BASE)

    [check] = at_github.checks
    assert check["conclusion"] == "success"
    assert "Pull request" not in check["output"]["title"]


def test_a_class_that_another_pull_request_waits_for_keeps_the_check_in_progress(
    engine, at_github, report, posting, now
):
    for number in (7, 8):
        at_github.open_pull(number)
    upload = report(8, 1.0, base=OTHER_BASE)
    head = replace(upload.head, pull_request=7)
    announce_classes(engine, head, ("*",), deadline=now + timedelta(hours=6), now=now)
    repost_reports(engine, upload.head, **posting)

    [check] = at_github.checks
    assert (check["status"], check["conclusion"]) == ("in_progress", None)


@pytest.fixture
def waiting(engine, at_github, report, posting, now):
    """A check in progress on pull request 8, because 7 waits for a class; return 7's head."""
    for number in (7, 8):
        at_github.open_pull(number)
    head = replace(report(8, 1.0, base=OTHER_BASE).head, pull_request=7)
    announce_classes(engine, head, ("*",), deadline=now + timedelta(hours=6), now=now)
    repost_reports(engine, head, **posting)
    assert [one["status"] for one in at_github.checks] == ["in_progress"]
    return head


@pytest.mark.parametrize("state", [{"state": "closed"}, {"head_sha": "c" * 40}])
def test_a_check_does_not_wait_for_a_pull_request_that_left(
    engine, at_github, waiting, posting, state
):
    at_github.open_pull(7, **state)
    repost_reports(engine, waiting, **posting | {"now": posting["now"] + timedelta(hours=6)})

    [check] = at_github.checks
    assert (check["status"], check["conclusion"]) == ("completed", "success")
    assert len(at_github.comments) == 1


def test_a_refused_result_of_a_closed_pull_request_ends_the_wait_for_it(at_github, waiting, report):
    at_github.open_pull(7, state="closed")
    report(waiting.pull_request, 1.2)

    [check] = at_github.checks
    assert (check["status"], check["conclusion"]) == ("completed", "success")


def test_a_result_of_the_other_itself_that_comes_meanwhile_is_posted(
    engine, at_github, waiting, posting, *, judged, make_bundle
):
    at_github.open_pull(7, state="closed")
    created_at = posting["now"].isoformat()
    slower = make_bundle(ratio=1.2, pull_request=8, base=OTHER_BASE, created_at=created_at)
    came = []

    def judge_the_other(method, path):
        if method == "PATCH" and "/check-runs/" in path and not came:
            came.append(judged(engine, slower, upload_id=f"{9:032x}"))

    at_github.server.state.after_handling = judge_the_other
    repost_reports(engine, waiting, **posting)

    assert len(came) == 1
    [check] = at_github.checks
    assert check["conclusion"] == "failure"


def test_a_pull_request_that_leaves_has_the_check_of_one_that_stays_posted(engine, waiting, now):
    def due(number, *, sha=waiting.head_sha, repository="octo/models", is_at=False):
        return checks_to_post(engine, repository, 1, number, sha, is_at=is_at, now=now)

    assert [one.pull_request for one in due(7)] == [8]
    assert [one.pull_request for one in due(7, is_at=True)] == [7]
    assert due(7, sha="c" * 40) == ()
    assert due(7, sha="") == due(2**40) == due(7, repository="octo/other") == ()


def test_a_result_that_comes_while_the_check_is_posted_is_posted_after_it(at_github, judge, report):
    for number in (7, 8):
        at_github.open_pull(number)
    came = []

    def judge_the_other(method, path):
        if method == "POST" and path.endswith("check-runs"):
            came.append(judge(7, 1.2))

    at_github.server.state.after_handling = judge_the_other
    report(8, 1.0, base=OTHER_BASE)

    assert len(came) == 1
    [check] = at_github.checks
    assert check["conclusion"] == "failure"


def test_more_pull_requests_than_github_is_asked_about_count_as_open(
    at_github, judge, report, monkeypatch
):
    monkeypatch.setattr(same_commit, "MAX_QUESTIONS", 1)
    at_github.open_pull(7)
    for number in (8, 9):
        judge(number, 1.2, base=OTHER_BASE)
    report(7, 1.0)

    [check] = at_github.checks
    assert check["conclusion"] == "failure"
    assert check["output"]["title"].startswith("Pull request #9: ")
    assert at_github.requests.count("GET pulls/8") == 1
    assert "GET pulls/9" not in at_github.requests


def test_a_branch_named_like_a_merge_queues_does_not_turn_a_red_check_green(
    engine, at_github, judge, report, posting
):
    at_github.open_pull(7)
    head_sha = report(7, 1.2).head_sha
    name = f"gh-readonly-queue/main/pr-7-{OTHER_BASE.sha}"
    at_github.tell("branches", {"name": name, "sha": head_sha})
    repost_reports(engine, group_head(judge(None, 1.0, base=OTHER_BASE)), **posting)

    [check] = at_github.checks
    assert check["edits"] == 1
    assert check["conclusion"] == "failure"
    assert check["output"]["title"].startswith("Pull request #7: Performance regressed")


def test_a_result_that_comes_while_a_merge_groups_check_is_posted_is_posted_after_it(
    engine, at_github, judge, posting
):
    at_github.open_pull(7)
    group = judge(None, 1.0, base=OTHER_BASE)
    name = f"gh-readonly-queue/main/pr-7-{OTHER_BASE.sha}"
    at_github.tell("branches", {"name": name, "sha": group.head_sha})
    came = []

    def judge_the_pull_request(method, path):
        if method == "POST" and path.endswith("check-runs"):
            came.append(judge(7, 1.2))

    at_github.server.state.after_handling = judge_the_pull_request
    repost_reports(engine, group_head(group), **posting)

    assert len(came) == 1
    [check] = at_github.checks
    assert check["conclusion"] == "failure"


def test_a_comment_that_github_refuses_does_not_keep_the_check_in_progress(at_github, report):
    at_github.open_pull()
    at_github.fail_next(method="POST", path="/comments", status=403)
    with pytest.raises(GitHubError, match="403"):
        report(7, 1.2)

    assert at_github.comments == []
    [check] = at_github.checks
    assert check["conclusion"] == "failure"
