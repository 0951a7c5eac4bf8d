"""Notices of a target: stored once, found again by event and by kind, and gone with it."""

from datetime import timedelta

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import write_session
from perfledger_service.store.events.notices import (
    add_notice,
    add_target,
    count_begun,
    last_of_kind,
    last_reference,
    notice_by_id,
    notices_of_events,
    projects_with_targets,
    queued_notices,
    remove_target,
    update_notice,
)
from perfledger_service.store.projects import project_for
from perfledger_service.values.notices.notice import (
    Notice,
    NoticeChannel,
    NoticeStatus,
    NoticeSubject,
    NoticeTarget,
)


@pytest.fixture
def session(any_engine):
    with write_session(any_engine) as session:
        yield session


@pytest.fixture
def target(session, now):
    project = project_for(session, "octo/models", now=now)
    return add_target(session, project.id, NoticeTarget(channel=NoticeChannel.ISSUE), now=now)


@pytest.fixture
def add(session, target, now):
    def add(key, **values):
        defaults = {
            "id": 0,
            "project_id": 1,
            "target_id": target.id,
            "key": key,
            "subject": NoticeSubject.OPEN,
            "status": NoticeStatus.QUEUED,
            "edition": 1,
            "queued_at": now,
        }
        add_notice(session, Notice(**defaults | values))

    return add


def test_a_target_has_a_key_once(session, add):
    add("event-1", event_id=1)
    add("event-1", event_id=9)

    [notice] = queued_notices(session)
    assert (notice.key, notice.event_id) == ("event-1", 1)


def test_notices_are_found_by_event_and_by_kind(session, target, add, now):
    add("event-1", event_id=1)
    add("event-2", event_id=2, status=NoticeStatus.HELD)
    add("triage-2026-11-16", reference="12")
    add("triage-2026-11-23")

    assert {
        number: one.key for number, one in notices_of_events(session, target.id, [1, 3]).items()
    } == {1: "event-1"}
    assert count_begun(session, target.id, prefix="event-", since=now - timedelta(hours=1)) == 1
    assert count_begun(session, target.id, prefix="event-", since=now) == 0
    last = last_of_kind(session, target.id, prefix="triage-")
    assert last is not None
    assert last.key == "triage-2026-11-23"
    assert last_of_kind(session, target.id, prefix="summary-") is None
    assert last_reference(session, target.id, prefix="triage-") == "12"
    assert last_reference(session, target.id, prefix="event-") == ""


def test_a_target_is_gone_with_its_notices(session, target, add):
    add("event-1")
    [notice] = queued_notices(session)
    update_notice(session, notice, problem="late")
    session.expire_all()
    assert notice_by_id(session, notice.id).problem == "late"
    assert projects_with_targets(session) == (1,)

    remove_target(session, 1, target.channel, target.address)
    session.expire_all()
    assert notice_by_id(session, notice.id) is None
    assert projects_with_targets(session) == ()
    with pytest.raises(NotFoundError, match="notices have no target issue"):
        remove_target(session, 1, target.channel, target.address)
