"""Tests who is told of a quarter's review, and how often."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.notices import notices_of, update_notice
from perfledger_service.usecases.notices.queue import queue_notices
from perfledger_service.usecases.notices.reviews import REVIEW_KEY, queue_review_notices
from perfledger_service.values.notices.notice import (
    NoticeChannel,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)

MAIL = NoticeTarget(channel=NoticeChannel.MAIL, address="team@example.com", is_weekly=True)


@pytest.fixture
def queue(any_engine, project, now):
    def queue(problem="", *, quarter="2026Q3", at=now):
        with write_session(any_engine) as session:
            queue_review_notices(session, project.id, quarter, problem=problem, now=at)
            session.commit()

    return queue


@pytest.fixture
def stored(any_engine, project):
    def stored():
        with read_session(any_engine) as session:
            notices = notices_of(session, project.id)
        return [one for one in notices if one.subject is NoticeSubject.REVIEW]

    return stored


def test_readers_of_the_weekly_report_are_told_once_and_no_issue_is(send_to, queue, stored):
    reader = send_to(MAIL)
    send_to()  # a chat without the report
    send_to(NoticeTarget(channel=NoticeChannel.ISSUE, is_weekly=True))
    for _ in range(2):
        queue()

    assert [(one.target_id, one.key) for one in stored()] == [(reader.id, f"{REVIEW_KEY}2026Q3")]


def test_each_quarter_is_told(send_to, queue, stored):
    send_to(MAIL)
    queue()
    queue(quarter="2026Q4")

    assert [one.key for one in stored()] == [f"{REVIEW_KEY}2026Q4", f"{REVIEW_KEY}2026Q3"]


def test_another_problem_is_not_told_and_the_stored_review_is(
    any_engine, send_to, queue, stored, now
):
    send_to(MAIL)
    queue("no bill")
    queue("no plan")
    [first] = stored()
    assert (first.cause, first.edition) == ("no bill", 1)

    queue(at=now + timedelta(days=1))
    queue(at=now + timedelta(days=2))
    queue("a late problem")

    [second] = stored()
    assert second == replace(first, cause="", edition=2, queued_at=now + timedelta(days=1))
    assert [work.edition for work in queue_notices(any_engine, now=now)] == [2]


def test_a_review_is_told_where_its_problem_was_sent(any_engine, send_to, queue, stored):
    send_to(MAIL)
    queue("no bill")
    with write_session(any_engine) as session:
        update_notice(session, stored()[0], status=NoticeStatus.SENT)
        session.commit()

    queue()

    assert [(one.status, one.edition) for one in stored()] == [(NoticeStatus.QUEUED, 2)]


def test_a_problem_that_could_not_be_sent_is_told_with_the_next_attempt(
    any_engine, send_to, queue, stored, now
):
    send_to(MAIL)
    queue("no bill")
    [first] = stored()
    with write_session(any_engine) as session:
        update_notice(session, first, status=NoticeStatus.FAILED, problem="no mail server")
        session.commit()

    tomorrow = now + timedelta(days=1)
    queue("no plan", at=tomorrow)
    queue("no plan", at=tomorrow)

    assert stored() == [replace(first, cause="no plan", edition=2, queued_at=tomorrow)]
