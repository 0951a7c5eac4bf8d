import pytest

from perfledger_service.store.branch_commits import (
    branch_places,
    clear_branch,
    put_line,
    put_places,
)
from perfledger_service.store.database import read_session, write_session


class Places:
    """The places of the commits of project 1."""

    def __init__(self, engine):
        self.engine = engine

    def put(self, line, **values):
        with write_session(self.engine) as session:
            put_line(session, 1, line, **values)
            session.commit()

    def put_places(self, **places):
        with write_session(self.engine) as session:
            put_places(session, 1, places)
            session.commit()

    @property
    def line(self):
        """The known commits, and how far apart they are."""
        with read_session(self.engine) as session:
            places = branch_places(session, 1)
        first = min(places.values(), default=0)
        return {sha: place - first for sha, place in places.items()}


@pytest.fixture
def places(any_engine, received, make_bundle):
    received(any_engine, make_bundle())
    return Places(any_engine)


def test_a_new_line_leaves_places_for_older_commits(places):
    places.put("abc", known_until="")

    with read_session(places.engine) as session:
        assert min(branch_places(session, 1).values()) > 1_000_000
    assert places.line == {"a": 0, "b": 1, "c": 2}


def test_a_line_is_extended_at_both_ends(places):
    places.put("cd", known_until="")
    places.put("def", known_until="d")
    places.put("abc")

    assert list(places.line) == list("abcdef")
    assert list(places.line.values()) == list(range(6))


def test_commits_that_the_branch_no_longer_has_are_dropped(places):
    places.put("abcdef", known_until="")
    places.put("cx", known_until="f")

    assert list(places.line) == list("abcx")


def test_commits_that_another_upload_added_meanwhile_stay(places):
    places.put("abc", known_until="")
    places.put("cdef", known_until="c")
    places.put("cd", known_until="c")

    assert list(places.line) == list("abcdef")


def test_another_line_replaces_the_known_one(places):
    places.put("abc", known_until="")
    places.put("xyz", known_until="c")

    assert list(places.line) == list("xyz")


def test_places_by_a_runners_word_are_replaced_by_newer_ones(places):
    places.put_places(a=3, b=7)
    places.put_places(c=7, d=9, e=9)

    assert places.line == {"a": 0, "c": 4, "e": 6}


def test_a_branch_can_be_forgotten(places):
    places.put("abc", known_until="")
    with write_session(places.engine) as session:
        clear_branch(session, 1)
        session.commit()

    assert places.line == {}
