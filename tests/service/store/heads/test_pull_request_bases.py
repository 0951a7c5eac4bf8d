"""The base of a pull request is stored, and when it changed, on SQLite and PostgreSQL."""

from datetime import timedelta

import pytest

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.heads.pull_request_bases import base_of, note_base

HOUR = timedelta(hours=1)


@pytest.fixture
def head(any_engine, received, make_bundle):
    return received(any_engine, make_bundle()).head


@pytest.fixture
def note(any_engine, head, now):
    """Record a base after some hours, and return what is stored then."""

    def note(base_ref, hours=0):
        with write_session(any_engine) as session:
            note_base(session, head, base_ref, now=now + hours * HOUR)
            session.commit()
        with read_session(any_engine) as session:
            return base_of(session, head)

    return note


def test_a_base_that_never_changed_has_no_time(any_engine, head, note):
    with read_session(any_engine) as session:
        assert base_of(session, head) == ("", None)
    assert [note("main"), note("main", 1)] == [("main", None), ("main", None)]


def test_a_base_has_the_time_of_its_last_change(note, now):
    note("main")

    assert note("release", 1) == ("release", now + HOUR)
    assert note("release", 2) == ("release", now + HOUR)
    assert note("main", 3) == ("main", now + 3 * HOUR)
