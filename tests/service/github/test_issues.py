"""Issues at the stand-in: opened once, commented once, closed, and found by their marker."""

from datetime import UTC, datetime

import pytest

REPOSITORY = "octo/models"
MARKER = "<!-- perfledger:notice:1-event-3 -->"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def issues(github, at_github):
    at_github.open_pull()
    return github.issues


def test_an_issue_is_found_by_its_marker_and_its_author(issues, at_github):
    assert issues.find(REPOSITORY, MARKER, since=LONG_AGO) is None
    theirs = at_github.state["issues"].setdefault(
        "90",
        {"number": 90, "body": MARKER, "state": "open", "updated_at": "2026-01-01T00:00:00Z"},
    )
    theirs["user"] = {"login": "mallory"}
    number = issues.create(REPOSITORY, "t" * 300, f"{MARKER}\nslower")

    assert issues.find(REPOSITORY, MARKER, since=LONG_AGO) == number
    issue = at_github.state["issues"][str(number)]
    assert issue["title"] == "t" * 256
    assert issue["labels"] == [{"name": "performance"}]
    assert issues.find(REPOSITORY, MARKER, since=datetime(2999, 1, 1, tzinfo=UTC)) is None
    assert issues.find(REPOSITORY, "<!-- other -->", since=LONG_AGO) is None


@pytest.mark.parametrize(("minutes", "is_seen"), [(10, True), (11, False)])
def test_githubs_clock_may_be_ten_minutes_behind(issues, at_github, minutes, is_seen):
    number = issues.create(REPOSITORY, "slower", MARKER)
    at_github.state["issues"][str(number)]["updated_at"] = "2026-11-20T12:00:00Z"
    since = datetime(2026, 11, 20, 12, minutes, tzinfo=UTC)

    assert (issues.find(REPOSITORY, MARKER, since=since) == number) is is_seen


def test_an_issue_without_author_or_body_is_not_ours(issues, at_github):
    at_github.state["issues"]["90"] = {
        "number": 90,
        "body": None,
        "user": None,
        "state": "closed",
        "updated_at": "2026-01-01T00:00:00Z",
    }

    assert issues.find(REPOSITORY, MARKER, since=LONG_AGO) is None


def test_all_pages_are_searched(issues):
    first = issues.create(REPOSITORY, "first", MARKER)
    for number in range(120):
        issues.create(REPOSITORY, str(number), "else")

    assert issues.find(REPOSITORY, MARKER, since=LONG_AGO) == first


def test_a_comment_is_added_once(issues, at_github):
    number = issues.create(REPOSITORY, "slower", MARKER)
    for _ in range(2):
        assert issues.add_comment(REPOSITORY, number, "<!-- fixed -->", "<!-- fixed -->\nfixed")

    assert [one["body"] for one in at_github.comments] == ["<!-- fixed -->\nfixed"]


def test_an_issue_is_closed_and_opened_again(issues, at_github):
    number = issues.create(REPOSITORY, "slower", MARKER)
    issues.set_open(REPOSITORY, number, is_open=False)
    assert at_github.state["issues"][str(number)]["state"] == "closed"
    assert issues.find(REPOSITORY, MARKER, since=LONG_AGO) == number

    issues.set_open(REPOSITORY, number, is_open=True)
    assert at_github.state["issues"][str(number)]["state"] == "open"


def test_an_issue_that_is_gone_takes_nothing_and_is_no_error(issues):
    assert not issues.add_comment(REPOSITORY, 900, "<!-- x -->", "<!-- x -->")
    issues.set_open(REPOSITORY, 900, is_open=False)
