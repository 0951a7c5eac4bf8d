"""Posts that wait: when they are attempted again, and by whom."""

from datetime import timedelta

import pytest

from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.database import read_session
from perfledger_service.store.uploads import stuck_uploads, upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.usecases.uploads.retry import (
    GIVE_UP_AFTER,
    MAX_WAIT,
    MIN_WAIT,
    defer_upload,
    due_work,
    retry_uploads,
)
from perfledger_service.usecases.uploads.uploads import fail_upload, judge_upload
from perfledger_service.values.upload_views import UploadStatus

MINUTE = timedelta(minutes=1)


@pytest.fixture
def upload(any_engine, judged, make_bundle):
    return judged(any_engine, make_bundle())


@pytest.fixture
def stored(any_engine, upload):
    def stored():
        with read_session(any_engine) as session:
            return upload_by_id(session, upload.id)

    return stored


def test_a_post_that_waits_says_why_and_until_when_and_keeps_its_verdict(
    any_engine, upload, stored, now
):
    work = defer_upload(any_engine, upload.id, "GitHub answered 502", None, now=now)

    assert work is not None
    assert (work.attempt, work.due_at) == (2, now + MIN_WAIT)
    assert stored().status is UploadStatus.JUDGED
    assert stored().reason == "next attempt at 12:01 UTC: GitHub answered 502"
    assert stored().headline == upload.headline


def test_attempts_are_further_and_further_apart_for_a_day(any_engine, upload, stored, now):
    waits, moment = [], now
    while work := defer_upload(any_engine, upload.id, "502", None, now=moment):
        assert work.due_at is not None
        waits.append(work.due_at - moment)
        moment = work.due_at

    assert waits[:6] == [MINUTE, MINUTE, 2 * MINUTE, 4 * MINUTE, 8 * MINUTE, MAX_WAIT]
    assert set(waits[6:]) == {MAX_WAIT}
    assert GIVE_UP_AFTER < moment - now <= GIVE_UP_AFTER + MAX_WAIT
    assert stored().attempt == len(waits) + 1


def test_no_attempt_comes_before_github_allows_it(any_engine, upload, now):
    work = defer_upload(any_engine, upload.id, "limit", 3000.0, now=now)

    assert work is not None
    assert work.due_at == now + timedelta(seconds=3000)


def test_a_sweep_finds_what_is_due_and_what_was_never_judged(
    any_engine, upload, received, make_bundle, now
):
    waiting = received(any_engine, make_bundle(seed=1), upload_id="2" * 32)
    defer_upload(any_engine, upload.id, "502", None, now=now)

    early = due_work(any_engine, now=now + MINUTE / 2)
    late = due_work(any_engine, now=now + MINUTE)

    assert [work.upload_id for work in early] == [waiting.id]
    assert {work.upload_id: work.attempt for work in late} == {upload.id: 2, waiting.id: 1}


def test_a_retry_is_due_at_once_and_begins_a_new_day(any_engine, upload, stored, now):
    defer_upload(any_engine, upload.id, "401", None, now=now)

    [before] = retry_uploads(any_engine, (), now=now)

    assert before.reason.endswith("401")
    assert (stored().attempt, stored().retry_at, stored().failing_since) == (3, now, None)
    assert stored().reason == ""
    assert [work.attempt for work in due_work(any_engine, now=now)] == [3]


def test_a_failed_upload_is_retried_by_its_id(any_engine, upload, stored, now):
    fail_upload(any_engine, upload.id, "a bug")

    assert retry_uploads(any_engine, [upload.id], now=now)[0].status is UploadStatus.FAILED
    assert stored().status is UploadStatus.JUDGED


def test_an_upload_that_is_judged_at_a_retry_waits_for_nothing_more(
    any_engine, received, make_bundle, now
):
    upload = received(any_engine, make_bundle(pull_request=None))
    fail_upload(any_engine, upload.id, "OperationalError")
    retry_uploads(any_engine, (upload.id,), now=now)
    judge_upload(any_engine, upload.id, reports=UploadReports(build_report), now=now)

    with read_session(any_engine) as session:
        assert upload_by_id(session, upload.id).status is UploadStatus.JUDGED
        assert stuck_uploads(session) == ()
    assert due_work(any_engine, now=now + MINUTE) == ()


def test_what_neither_failed_nor_waits_is_not_retried(any_engine, upload, now):
    assert retry_uploads(any_engine, (), now=now) == ()
    with pytest.raises(UsageError, match="is judged: only one that failed or waits"):
        retry_uploads(any_engine, [upload.id], now=now)
    with pytest.raises(NotFoundError):
        retry_uploads(any_engine, ["f" * 32], now=now)


def test_after_a_day_of_failures_no_attempt_follows(any_engine, upload, now):
    day_after = now + timedelta(hours=24)

    assert defer_upload(any_engine, upload.id, "502", None, now=now) is not None
    assert defer_upload(any_engine, upload.id, "502", None, now=day_after) is not None
    later = day_after + timedelta(seconds=1)
    assert defer_upload(any_engine, upload.id, "502", None, now=later) is None
