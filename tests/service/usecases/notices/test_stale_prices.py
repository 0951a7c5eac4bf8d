"""Tests who is told of old prices, and how often."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.staleness import StalePrice
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.notices import notices_of, update_notice
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.notices import stale_prices
from perfledger_service.usecases.notices.messages import message_of
from perfledger_service.usecases.notices.notice import set_target
from perfledger_service.usecases.notices.queue import queue_notices
from perfledger_service.usecases.notices.stale_prices import (
    AFTER_FAILURE,
    _key,
    queue_price_notices,
)
from perfledger_service.values.notices.notice import (
    NoticeChannel,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)
from perfledger_service.values.people.person import Actor

LATER = datetime(2028, 1, 1, tzinfo=UTC)  # all packaged prices are old
FRESH = datetime(2020, 1, 1, tzinfo=UTC)  # none is, nor is one known
MAIL = NoticeTarget(channel=NoticeChannel.MAIL, address="team@example.com", is_weekly=True)


def a_stale_price(day):
    price = next(one for one in packaged_sheet().prices if one.pricing_model == "on_demand")
    return StalePrice(replace(price, as_of=day), "old")


@pytest.fixture
def queue(any_engine):
    return lambda now=LATER: queue_price_notices(any_engine, now=now)


@pytest.fixture
def stored(any_engine, project):
    def stored():
        with read_session(any_engine) as session:
            notices = notices_of(session, project.id)
        return [one for one in notices if one.subject is NoticeSubject.PRICES]

    return stored


def test_readers_of_the_weekly_report_are_told_once(send_to, queue, stored):
    weekly = send_to(MAIL)
    send_to()  # a chat without the report
    for hours in range(3):
        queue(LATER + timedelta(hours=hours))

    assert [one.target_id for one in stored()] == [weekly.id]


@pytest.fixture
def end_as(any_engine, stored):
    """Let the newest notice of prices end, sent or not."""

    def end_as(status):
        with write_session(any_engine) as session:
            update_notice(session, stored()[0], status=status, problem="the server is away")
            session.commit()

    return end_as


def test_a_notice_that_failed_is_sent_again_a_day_later(send_to, queue, stored, end_as):
    send_to(MAIL)
    queue()
    end_as(NoticeStatus.FAILED)
    queue(LATER + AFTER_FAILURE - timedelta(seconds=1))
    [failed] = stored()
    assert (failed.edition, failed.status) == (1, NoticeStatus.FAILED)

    for _ in range(2):
        queue(LATER + AFTER_FAILURE)

    [again] = stored()
    assert (again.id, again.edition, again.status) == (failed.id, 2, NoticeStatus.QUEUED)
    assert (again.queued_at, again.problem) == (LATER + AFTER_FAILURE, "")


def test_a_notice_that_was_sent_is_not_sent_again(send_to, queue, stored, end_as):
    send_to(MAIL)
    queue()
    end_as(NoticeStatus.SENT)
    queue(LATER + timedelta(days=30))

    assert [(one.edition, one.status) for one in stored()] == [(1, NoticeStatus.SENT)]


def test_nothing_is_said_of_prices_that_are_current(send_to, queue, stored):
    send_to(MAIL)
    queue(FRESH)

    assert stored() == []


def test_an_issue_of_a_repository_is_not_the_place(send_to, queue, stored):
    send_to(NoticeTarget(channel=NoticeChannel.ISSUE, is_weekly=True))
    queue()

    assert stored() == []


def test_an_address_of_two_projects_is_told_once(any_engine, send_to, queue, stored, now):
    with write_session(any_engine) as session:
        other = project_for(session, "octo/other", now=now)
        session.commit()
    set_target(any_engine, "octo/other", MAIL, actor=Actor(name="operator"), now=now)
    send_to(MAIL)
    queue()

    assert len(stored()) == 1
    with read_session(any_engine) as session:
        assert notices_of(session, other.id) == ()


def test_a_kind_of_prices_is_known_by_its_oldest_one():
    newer, older = a_stale_price(date(2026, 9, 1)), a_stale_price(date(2026, 6, 1))
    keys = [_key(stale) for stale in ((older,), (older, newer), (newer,))]

    assert keys == ["prices-list-2026-06-01", "prices-list-2026-06-01", "prices-list-2026-09-01"]


def test_a_kind_is_not_told_again_when_another_one_was_updated(send_to, queue, stored, monkeypatch):
    old = a_stale_price(date(2026, 6, 1))
    spot = next(one for one in packaged_sheet().prices if one.pricing_model == "spot")
    old_spot = StalePrice(replace(spot, as_of=date(2026, 11, 1)), "old")
    send_to(MAIL)
    counts = []
    for outdated in ((old, old_spot), (old_spot,), (a_stale_price(date(2026, 9, 1)), old_spot)):
        monkeypatch.setattr(stale_prices, "outdated_prices", lambda result=outdated, **_: result)
        queue()
        counts.append(len(stored()))

    assert counts == [1, 1, 2]


def test_the_message_names_the_kinds_and_where_they_are(
    any_engine, project, send_to, queue, *, now
):
    send_to(MAIL)
    queue()
    assert [work.edition for work in queue_notices(any_engine, now=now)] == [1]
    with read_session(any_engine) as session:
        [notice] = notices_of(session, project.id)
    message = message_of(any_engine, project, notice, public_url="https://a.example", now=LATER)

    assert message.title.startswith("[octo/models] The service computes with old prices")
    assert "https://a.example/admin/prices?stale=true" in message.text
    assert "list prices are older than 90 days" in message.text
    assert " " not in message.key
