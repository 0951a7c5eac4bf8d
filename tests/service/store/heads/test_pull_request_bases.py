"""The base of a pull request is stored, and when it changed, on SQLite and PostgreSQL."""

from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.heads.pull_request_bases import (
    KnownBase,
    PullRequestBaseRow,
    base_of,
    note_base,
    note_head_of_change,
)

HOUR = timedelta(hours=1)
LATER_SHA = "c" * 40


@pytest.fixture
def head(any_engine, received, make_bundle):
    return received(any_engine, make_bundle()).head


@pytest.fixture
def note(any_engine, head, now):
    """Record a base after some hours, and return what is stored then."""

    def note(base_ref, hours=0, **values):
        noted_head = replace(head, head_sha=values.pop("head_sha", head.head_sha))
        with write_session(any_engine) as session:
            note_base(session, noted_head, base_ref, now=now + hours * HOUR, **values)
            session.commit()
        with read_session(any_engine) as session:
            return base_of(session, head)

    return note


def test_a_base_that_never_changed_has_no_time(any_engine, head, note):
    with read_session(any_engine) as session:
        assert base_of(session, head) == KnownBase()
    assert [note("main"), note("main", 1)] == [KnownBase(base_ref="main")] * 2


def test_a_base_has_the_time_and_the_head_of_its_last_change(note, head, now):
    note("main")
    first_change = KnownBase(base_ref="release", changed_at=now + HOUR, changed_head=head.head_sha)

    assert note("release", 1) == first_change
    assert note("release", 2, head_sha=LATER_SHA) == first_change
    assert note("main", 3, head_sha=LATER_SHA) == KnownBase(
        base_ref="main", changed_at=now + 3 * HOUR, changed_head=LATER_SHA
    )


def test_a_base_that_changed_before_it_was_known_has_that_time(note, head, now):
    assert note("main", 1, changed_at=now) == KnownBase(
        base_ref="main", changed_at=now, changed_head=head.head_sha
    )


def test_the_first_head_seen_after_a_change_without_a_head_stands_for_it(any_engine, note, head):
    """Changes that were stored before heads were recorded have none."""
    note("main")
    with write_session(any_engine) as session:
        note_head_of_change(session, head)
        assert base_of(session, head).changed_head == ""  # nothing changed
        session.commit()
    note("release", 1)
    with write_session(any_engine) as session:
        row = session.get_one(PullRequestBaseRow, (head.project_id, head.pull_request))
        row.changed_head = ""
        session.add(row)
        session.flush()
        shas = []
        for sha in (head.head_sha, LATER_SHA):
            note_head_of_change(session, replace(head, head_sha=sha))
            shas.append(base_of(session, head).changed_head)

    assert shas == [head.head_sha] * 2
