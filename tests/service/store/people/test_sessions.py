from datetime import timedelta

import pytest

from perfledger_service.store.people.sessions import (
    StoredSession,
    add_session,
    end_session,
    end_sessions,
    note_seen,
    session_of_hash,
)

HOUR = timedelta(hours=1)


@pytest.fixture
def start(session, add_person, now):
    def start(sha256, login="alice", *, at=now, lifetime=HOUR):
        stored = StoredSession(
            sha256=sha256,
            person_id=add_person(login).id,
            created_at=at,
            seen_at=at,
            expires_at=at + lifetime,
        )
        add_session(session, stored)
        return stored

    return start


def test_a_session_is_found_by_its_hash_until_it_is_ended(session, start, now):
    stored = start("h")
    later = now + timedelta(minutes=9)
    note_seen(session, "h", now=later)
    stored_session = session_of_hash(session, "h")

    assert stored_session is not None
    assert (stored_session.person_id, stored_session.seen_at) == (stored.person_id, later)
    end_session(session, "h")
    end_session(session, "h")
    assert session_of_hash(session, "h") is None


def test_sessions_that_expired_are_forgotten(session, start, now):
    start("old")
    start("new", at=now + HOUR)

    assert session_of_hash(session, "old") is None
    assert session_of_hash(session, "new") is not None


def test_all_sessions_of_one_person_end_together(session, start):
    ids = [start(sha256, login).person_id for sha256, login in (("1", "a"), ("2", "a"), ("3", "b"))]

    assert end_sessions(session, ids[0]) == 2
    assert [bool(session_of_hash(session, one)) for one in "123"] == [False, False, True]
