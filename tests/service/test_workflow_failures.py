"""Tests when failed work is due again, and what is said of its failure."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.exc import OperationalError

from perfledger_service.errors import INTERNAL, GitHubError, NoticeServiceError, UsageError
from perfledger_service.values.jobs.queued_work import QueuedCheck
from perfledger_service.workflow_failures import (
    may_help,
    next_attempt,
    passing_cause,
    reason_of,
)

CHECK = QueuedCheck(
    project_id=1,
    repository="o/r",
    pull_request=7,
    head_sha="b" * 40,
    due_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
)
BUSY = OperationalError("update", {}, Exception("database is locked"))
AWAY = GitHubError("GitHub does not answer", is_transient=True)
REFUSED = NoticeServiceError("no such webhook", is_transient=False)
LIMITED = GitHubError("too many requests", is_transient=True, wait_s=60.0)


@pytest.mark.parametrize(
    ("attempt", "asked_s", "wait_s"),
    [(1, None, 60), (2, None, 120), (4, None, 480), (5, None, 900), (99, None, 900), (1, 300, 300)],
)
def test_a_check_is_attempted_again_after_a_minute_and_ever_later(attempt, asked_s, wait_s):
    later = next_attempt(replace(CHECK, attempt=attempt), wait_s=asked_s)

    assert later.attempt == attempt + 1
    assert later.due_at - CHECK.due_at == timedelta(seconds=wait_s)


@pytest.mark.parametrize(
    ("error", "helps", "passes"),
    [
        (BUSY, True, False),
        (AWAY, True, True),
        (LIMITED, False, True),
        (REFUSED, False, False),
        (UsageError("no such check"), False, False),
    ],
)
def test_what_is_busy_is_tried_at_once_and_what_says_when_is_tried_then(error, helps, passes):
    assert may_help(error) is helps
    assert (passing_cause(error) is error) is passes


def test_our_own_errors_are_said_as_they_are_and_bugs_are_not():
    assert reason_of(UsageError("no such check")) == "no such check"
    assert reason_of(ValueError("a detail of the code")) == INTERNAL
