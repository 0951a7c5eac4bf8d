"""For which uploads an acceptance counts."""

from datetime import UTC, date, datetime, timedelta

from perfledger_service.values.acceptance import Acceptance

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HEAD, NEWER = "b" * 40, "c" * 40
SECOND = timedelta(seconds=1)


def acceptance(workload="a:b", until=None):
    return Acceptance(
        pull_request=7,
        head_sha=HEAD,
        login="alice",
        workload=workload,
        reason="worth it",
        accepted_at=NOW,
        until=until,
    )


def test_without_a_last_day_it_counts_for_what_was_judged_before_it():
    assert acceptance().covers(HEAD, NOW)
    assert acceptance().covers(NEWER, NOW)
    assert not acceptance().covers(HEAD, NOW + SECOND)


def test_with_a_last_day_it_counts_until_that_day_has_passed():
    last = datetime(2026, 11, 25, 23, 59, 59, tzinfo=UTC)
    limited = acceptance(until=date(2026, 11, 25))

    assert limited.covers(NEWER, last)
    assert not limited.covers(NEWER, last + SECOND)
    assert limited.covers(NEWER, NOW - SECOND)


def test_what_is_ignored_is_one_commit_whenever_it_was_judged():
    ignored = acceptance(workload="")

    assert ignored.covers(HEAD, NOW + SECOND)
    assert not ignored.covers(NEWER, NOW - SECOND)
