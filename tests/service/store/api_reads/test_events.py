"""Tests the pages of events on both databases."""

import pytest

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.store.api_reads.events import events_page
from perfledger_service.store.database import read_session


@pytest.fixture
def two_events(any_engine, judged, make_bundle):
    """A database with two events of a project, and the project's id."""
    judged(any_engine, make_bundle(pairs=4))
    second = judged(any_engine, make_bundle(pairs=4, seed=1, pull_request=8), upload_id="2" * 32)
    return any_engine, second.project_id


@pytest.mark.slow(ci_only=True)
def test_a_page_begins_after_the_last_event_of_the_one_before(two_events):
    engine, project = two_events
    with read_session(engine) as session:
        first = events_page(session, project, most=1)
        second = events_page(session, project, after=first.last, most=1)

    assert [view.event.id for view in (*first.items, *second.items)] == [2, 1]
    assert (first.last, second.last) == ((2,), None)


@pytest.mark.slow(ci_only=True)
def test_only_events_of_the_project_and_of_the_states_are_on_a_page(two_events):
    engine, project = two_events
    with read_session(engine) as session:
        fixed = events_page(session, project, states=(EventState.FIXED,), most=10)
        others = events_page(session, project + 1, most=10)

    assert (fixed.items, others.items) == ((), ())
