"""The workflow of notices, really running, with a step that says what was sent."""

from dataclasses import replace
from datetime import UTC, datetime
from queue import Queue
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from perfledger_service.errors import INTERNAL, NoticeServiceError
from perfledger_service.values.jobs.queued_work import MAX_LATER_ATTEMPTS, QueuedNotice
from perfledger_service.workflows import ATTEMPTS, UploadWorkflow
from tests.service.workflows.engine_files import NO_STEPS

pytestmark = pytest.mark.slow

PATIENCE_S = 600
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOTICE = QueuedNotice(notice_id=5, target_id=2, edition=1, due_at=NOON)


@pytest.fixture
def calls():
    """What was called, in order."""
    return Queue[Any]()


@pytest.fixture
def next_call(calls):
    return lambda: calls.get(timeout=PATIENCE_S)


@pytest.fixture
def launched(engine_url, calls):
    """Launch the workflow with a step that sends notices."""
    launched_jobs = []

    def fail(notice, reason, is_final):
        calls.put(("failed", notice.attempt, reason, is_final))

    def launch(send_notice, record_sent=NO_STEPS.record_sent, fail_notice=fail):
        steps = replace(
            NO_STEPS,
            send_notice=send_notice,
            record_sent=record_sent,
            fail_notice=fail_notice,
        )
        jobs = UploadWorkflow(engine_url, steps, retry_interval_s=0.001, closing_s=30.0)
        jobs.launch()
        launched_jobs.append(jobs)
        return jobs

    yield launch
    for jobs in launched_jobs:
        jobs.close()


def test_an_edition_of_a_notice_is_sent_once_however_often_it_is_enqueued(
    calls, launched, next_call
):
    jobs = launched(lambda notice: calls.put((notice.notice_id, notice.edition)))
    for _ in range(3):
        jobs.enqueue_notice(NOTICE)
    jobs.enqueue_notice(replace(NOTICE, edition=2))

    assert [next_call(), next_call()] == [(5, 1), (5, 2)]
    assert calls.empty()


def locked():
    return OperationalError("update notice", {}, Exception("database is locked"))


def test_a_store_that_is_busy_has_no_notice_sent_twice(calls, launched, next_call):
    """Nor one that is busy for longer than a step is usually attempted."""
    is_busy = iter((*(True,) * (ATTEMPTS + 1), False))

    def send(_):
        calls.put("sent")
        return "12"

    def record(_, reference):
        calls.put(reference)
        if next(is_busy):
            raise locked()

    launched(send, record).enqueue_notice(NOTICE)

    assert [next_call() for _ in range(ATTEMPTS + 3)] == ["sent", *("12",) * (ATTEMPTS + 2)]
    assert calls.empty()


@pytest.mark.parametrize("error", [NoticeServiceError("refused"), locked()])
def test_a_notice_is_attempted_again_where_a_busy_store_knows_nothing_of_its_failure(
    calls, launched, next_call, error
):
    def send(notice):
        if notice.attempt == 1:
            raise error
        calls.put(("sent", notice.attempt))

    def fail(*_):
        calls.put("busy")
        raise locked()

    launched(send, fail_notice=fail).enqueue_notice(NOTICE)

    assert [next_call() for _ in range(ATTEMPTS + 1)] == [*("busy",) * ATTEMPTS, ("sent", 2)]


def test_a_notice_that_a_busy_store_kept_back_is_attempted_again(calls, launched, next_call):
    def send(notice):
        if notice.attempt == 1:
            raise locked()
        calls.put(("sent", notice.attempt))

    launched(send).enqueue_notice(NOTICE)

    assert next_call() == ("failed", 1, INTERNAL, False)
    assert next_call() == ("sent", 2)


def test_a_notice_that_was_not_taken_is_sent_again_later(calls, launched, next_call):
    def send(notice):
        if notice.attempt == 1:
            msg = "the webhook 'chat' answered 503"
            raise NoticeServiceError(msg, is_transient=True, wait_s=1.0)
        calls.put(("sent", notice.attempt, notice.due_at > NOON))

    launched(send).enqueue_notice(NOTICE)

    assert next_call() == ("failed", 1, "the webhook 'chat' answered 503", False)
    assert next_call() == ("sent", 2, True)


@pytest.mark.parametrize(
    ("notice", "error"),
    [
        (NOTICE, NoticeServiceError("refused")),
        (
            replace(NOTICE, attempt=MAX_LATER_ATTEMPTS),
            NoticeServiceError("refused", is_transient=True, wait_s=1.0),
        ),
    ],
)
def test_a_notice_that_is_refused_or_was_tried_for_a_day_fails(
    calls, launched, next_call, notice, error
):
    def send(_):
        raise error

    launched(send).enqueue_notice(notice)

    assert next_call() == ("failed", notice.attempt, "refused", True)
    assert calls.empty()
