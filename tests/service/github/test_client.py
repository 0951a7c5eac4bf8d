from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr

from perfledger_service.errors import GitHubError, SettingsError
from perfledger_service.github import client
from perfledger_service.github.client import open_github
from perfledger_service.github.pull_requests import (
    CheckRunContent,
    PullRequest,
    PullRequestComment,
)
from perfledger_service.values.pull_request_report import AnnotationLevel, CodeAnnotation

REPOSITORY = "octo/models"
SHA = "b" * 40


def a_check(**values):
    defaults = {
        "name": "perfledger",
        "head_sha": SHA,
        "conclusion": "success",
        "title": "fine",
        "summary": "all is *well*",
        "details_url": "https://ledger.example/x",
        "external_id": "1",
    }
    return CheckRunContent(**(defaults | values))


def test_a_pull_request_is_read(github, at_github):
    at_github.open_pull()

    expected = PullRequest(number=7, is_open=True, head_sha=SHA, is_fork=False, base_ref="main")
    assert github.pull_request(REPOSITORY, 7) == expected
    for origin in ("mallory/models", None):  # a fork, and one that was deleted
        at_github.open_pull(7, SHA, head_repository=origin)
        assert github.pull_request(REPOSITORY, 7) == replace(expected, is_fork=True)


def test_a_pull_request_of_a_deleted_fork_is_read(github, at_github):
    at_github.open_pull(head_repository=None, state="closed")

    pull_request = github.pull_request(REPOSITORY, 7)

    assert (pull_request.head_sha, pull_request.is_open) == (SHA, False)


def test_no_pull_request_is_none(github, at_github):
    at_github.open_pull(7)

    assert github.pull_request(REPOSITORY, 8) is None


def test_the_newest_common_commit_is_read(github, at_github):
    comparison = {"base": "feature/x", "head": SHA, "merge_base": "e" * 40}
    at_github.tell("comparisons", comparison)

    assert github.merge_base(REPOSITORY, "feature/x", SHA) == "e" * 40
    assert github.merge_base(REPOSITORY, "gone", SHA) == ""


def test_the_last_change_of_a_base_is_read(github, at_github):
    at_github.open_pull()
    assert github.base_changed_at(REPOSITORY, 7) is None
    for event, day in (
        ("base_ref_changed", 2),
        ("automatic_base_change_succeeded", 4),
        ("base_ref_changed", 3),
        ("labeled", 5),
    ):
        fields = {"number": 7, "event": event, "created_at": f"2026-11-0{day}T12:00:00Z"}
        at_github.tell("events", fields)

    assert github.base_changed_at(REPOSITORY, 7) == datetime(2026, 11, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize("status", [403, 404])
def test_events_that_github_does_not_list_are_no_sign_of_an_unchanged_base(
    github, at_github, status
):
    at_github.open_pull()
    at_github.fail_next(path="/events", status=status, count=10)

    with pytest.raises(GitHubError) as refusal:
        github.base_changed_at(REPOSITORY, 7)
    assert not refusal.value.is_transient


def test_more_events_than_can_be_read_are_no_sign_of_an_unchanged_base(
    github, at_github, monkeypatch
):
    monkeypatch.setattr(client, "MAX_PAGES", 1)
    at_github.open_pull()
    for minute in range(100):
        created_at = datetime(2026, 11, 4, 12, minute % 60, tzinfo=UTC).isoformat()
        at_github.tell("events", {"number": 7, "event": "labeled", "created_at": created_at})

    with pytest.raises(GitHubError, match="too many events"):
        github.base_changed_at(REPOSITORY, 7)


def test_the_branches_at_a_commit_are_read(github, at_github):
    at_github.tell("branches", {"name": "topic", "sha": SHA})
    at_github.tell("branches", {"name": "main", "sha": "f" * 40})

    assert github.branches_at(REPOSITORY, SHA) == ("topic",)
    assert github.branches_at(REPOSITORY, "0" * 40) == ()


@pytest.mark.parametrize("status", [404, 422])
def test_an_unknown_commit_is_at_no_branch(github, at_github, status):
    at_github.fail_next(path="/branches-where-head", status=status)

    assert github.branches_at(REPOSITORY, SHA) == ()


def test_comments_are_written_changed_and_deleted(github, at_github):
    at_github.open_pull()
    first = github.create_comment(REPOSITORY, 7, "one")
    second = github.create_comment(REPOSITORY, 7, "two")
    assert github.update_comment(REPOSITORY, first, "uno")
    github.delete_comment(REPOSITORY, second)

    assert first > 2**31
    assert github.comments(REPOSITORY, 7) == (
        PullRequestComment(id=first, author="perfledger[bot]", body="uno"),
    )


def test_a_comment_that_is_gone_is_not_updated_and_its_deletion_is_no_error(github, at_github):
    at_github.open_pull()

    assert not github.update_comment(REPOSITORY, 12345, "text")
    github.delete_comment(REPOSITORY, 12345)


def test_all_pages_of_comments_are_read(github, at_github):
    at_github.open_pull()
    for number in range(205):
        at_github.state["comments"][str(number)] = {
            "id": number,
            "number": 7,
            "user": None if number == 3 else {"login": "someone"},
            "body": None if number == 4 else f"comment {number}",
        }

    comments = github.comments(REPOSITORY, 7)

    assert [comment.id for comment in comments] == list(range(205))
    assert (comments[3].author, comments[4].body) == ("", "")
    assert at_github.requests == ["GET issues/7/comments"] * 3


def test_a_check_run_is_made_found_and_changed(github, at_github):
    result = github.create_check(REPOSITORY, a_check())
    assert github.check_runs(REPOSITORY, SHA, "perfledger") == (result,)
    assert github.update_check(REPOSITORY, result, a_check(conclusion="failure", title="slow"))

    [check] = at_github.checks
    assert (check["conclusion"], check["output"]["title"]) == ("failure", "slow")
    assert check["status"] == "completed"


def test_other_peoples_check_runs_are_not_ours(github, at_github):
    result = github.create_check(REPOSITORY, a_check())
    at_github.state["check_runs"]["1"] = {
        "id": 1,
        "name": "perfledger",
        "head_sha": SHA,
        "app": {"slug": "mallory"},
    }
    at_github.state["check_runs"]["2"] = {**at_github.state["check_runs"]["1"], "app": None}

    assert github.check_runs(REPOSITORY, SHA, "perfledger") == (result,)


def test_a_check_run_that_is_gone_is_not_updated(github, at_github):
    assert at_github.checks == []
    assert not github.update_check(REPOSITORY, 12345, a_check())


def test_texts_are_cut_to_what_github_takes(github, at_github):
    github.create_check(REPOSITORY, a_check(summary="x" * 70_000))

    assert len(at_github.checks[0]["output"]["summary"]) == 65_535


def test_nothing_is_opened_without_credentials():
    assert open_github(api_url="http://h", token=None, app_id="", private_key=None) is None


@pytest.mark.parametrize(("app_id", "key"), [("12", None), ("", SecretStr("key"))])
def test_half_of_an_apps_credentials_is_an_error(app_id, key):
    with pytest.raises(SettingsError, match="go together: set both"):
        open_github(api_url="http://h", token=None, app_id=app_id, private_key=key)


def test_a_pull_request_of_a_repository_that_cannot_be_seen_may_be_there(github):
    with pytest.raises(GitHubError, match="404 to GET /repos/octo/hidden: Not Found") as caught:
        github.pull_request("octo/hidden", 7)

    assert caught.value.is_transient


def test_a_thumb_is_put_under_a_comment_once_and_under_none_that_is_gone(github, at_github):
    at_github.open_pull()
    comment = at_github.add_comment("alice", "/perfledger help")
    for comment_id in (comment["id"], comment["id"], 404):
        github.react(REPOSITORY, comment_id)

    assert at_github.state["reactions"] == [{"comment": comment["id"], "content": "+1"}]


def test_a_permission_is_githubs_word_and_none_for_a_stranger(github, at_github):
    at_github.tell("permissions", {"login": "alice", "permission": "admin"})

    assert github.permission(REPOSITORY, "alice") == "admin"
    assert github.permission(REPOSITORY, "mallory") == "none"


def test_nobodys_permission_is_known_where_the_repository_cannot_be_seen(github):
    with pytest.raises(GitHubError) as caught:
        github.permission("octo/unseen", "alice")
    assert caught.value.is_transient


def test_a_repository_has_a_number(github, at_github):
    at_github.tell("permissions", {"login": "alice", "permission": "read"})

    assert github.repository_id(REPOSITORY) == 1
    with pytest.raises(GitHubError):
        github.repository_id("octo/unseen")


@pytest.mark.slow(ci_only=True)
def test_open_pull_requests_are_listed_over_all_pages(github, at_github):
    for number in range(1, 132):
        at_github.open_pull(number, state="closed" if number == 5 else "open")

    assert github.open_pull_requests(REPOSITORY) == frozenset(range(1, 132)) - {5}


def test_more_open_pull_requests_than_can_be_listed_are_not_known(github, at_github, monkeypatch):
    monkeypatch.setattr(client, "MAX_PAGES", 1)
    for number in range(1, 101):
        at_github.open_pull(number)

    assert github.open_pull_requests(REPOSITORY) is None


def annotations_of(count):
    return tuple(
        CodeAnnotation(
            path="gpt.py",
            line=number,
            level=AnnotationLevel.FAILURE,
            title="gpt:step: step time +20 %",
            message="aten::mm",
        )
        for number in range(1, count + 1)
    )


def test_annotations_are_added_fifty_at_a_time_and_once(github, at_github):
    check = replace(a_check(), annotations=annotations_of(120))
    check_id = github.create_check(REPOSITORY, check)
    [made_check] = at_github.checks
    sent = [one for one in at_github.requests if one.startswith(("PATCH", "POST"))]

    assert len(sent) == 1 + 3
    assert [one["start_line"] for one in made_check["output"]["annotations"]] == list(range(1, 121))
    assert (made_check["status"], made_check["conclusion"]) == ("completed", "success")

    github.update_check(REPOSITORY, check_id, replace(check, annotations=annotations_of(121)))

    assert [one["start_line"] for one in made_check["output"]["annotations"]] == list(range(1, 122))


def test_annotations_whose_answer_is_lost_are_not_added_twice(github, at_github):
    check_id = github.create_check(REPOSITORY, a_check())
    check = replace(a_check(), annotations=annotations_of(3))

    def lose_next(_method, _path):
        at_github.server.state.after_handling = lambda _method, _path: None
        at_github.server.state.faults.append({"count": 1, "method": "PATCH", "drop": "after"})

    at_github.server.state.after_handling = lose_next  # after the check run itself was updated
    with pytest.raises(GitHubError):
        github.update_check(REPOSITORY, check_id, check)
    github.update_check(REPOSITORY, check_id, check)

    [made_check] = at_github.checks
    assert [one["start_line"] for one in made_check["output"]["annotations"]] == [1, 2, 3]


def test_the_lines_of_a_file_are_counted(github, at_github):
    at_github.tell("files", {"sha": SHA, "path": "a b/gpt.py", "text": "import torch\n\nx = 1\n"})

    assert github.line_count(REPOSITORY, "a b/gpt.py", SHA) == 3
    assert github.line_count(REPOSITORY, "a b/gpt.py", "f" * 40) is None


@pytest.mark.parametrize("status", [403, 404, 422])
def test_a_file_that_cannot_be_read_has_no_known_lines(github, at_github, status):
    at_github.fail_next(path="/contents/", status=status)

    assert github.line_count(REPOSITORY, "gpt.py", SHA) is None


@pytest.mark.parametrize("text", ["[]", "{}", '{"content": "!", "encoding": "base64"}'])
def test_what_is_no_file_has_no_known_lines(github, at_github, text):
    at_github.tell("files", {"sha": SHA, "path": "gpt", "text": "x"})
    at_github.fail_next(path="/contents/", status=200, text=text)

    assert github.line_count(REPOSITORY, "gpt", SHA) in {None, 0}


def test_a_file_is_asked_for_again_where_github_is_away(github, at_github):
    at_github.fail_next(path="/contents/", status=503, count=4)

    with pytest.raises(GitHubError):
        github.line_count(REPOSITORY, "gpt.py", SHA)
