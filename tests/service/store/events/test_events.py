"""What the store keeps of events, on both databases."""

import math
from dataclasses import replace
from datetime import date, timedelta

import pytest
from sqlalchemy import update

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    EventUpdate,
    TrackedEvent,
)
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events import events as tracked_events_module
from perfledger_service.store.events.events import (
    DueSearch,
    due_searches,
    event_by_id,
    events_of,
    events_of_pull_request,
    mark_search_due,
    newest_search,
    notes_of_event,
    notes_since,
    save_event,
    searched_changes,
    set_searched,
    tracked_events,
)
from perfledger_service.store.events.tables import EventSearchRow
from perfledger_service.store.projects import project_for
from perfledger_service.values.branch_views import BranchSearch

SERIES = ChangedSeries(
    workload="m:f",
    metric="step_time_p50",
    machine_class="cpu",
    before=1.0,
    after=1.1,
    change=0.1,
    low=-math.inf,
    high=math.inf,
)
EVENT = TrackedEvent(
    harm=Harm.WORSE,
    occurrences=(EventOccurrence(after_sha="a" * 40, last_sha="b" * 40, series=(SERIES,)),),
)

NOTHING = BranchSearch(
    commits=(), grouped_changes=GroupedChanges(events=(), environment_changes=()), watched=0
)


@pytest.fixture
def project_id(any_engine, now):
    with write_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
        project_for(session, "octo/other", now=now)
        session.commit()
    return project.id


@pytest.fixture
def save(any_engine, project_id, now):
    def save(event=EVENT, note="found", *, project_id=project_id, now=now, author=""):
        with write_session(any_engine) as session:
            number = save_event(
                session, project_id, EventUpdate(event, note), now=now, author=author
            )
            session.commit()
        return number

    return save


def test_an_event_is_read_as_it_was_stored(any_engine, project_id, save, now):
    number = save()

    with read_session(any_engine) as session:
        view = event_by_id(session, project_id, number)
        [note] = notes_of_event(session, number)
    assert view.event == replace(EVENT, id=number)
    assert (view.opened_at, view.changed_at) == (now, now)
    assert (note.author, note.state, note.note) == ("", EventState.OPEN, "found")


def test_a_new_state_keeps_when_the_event_was_opened(any_engine, project_id, save, now):
    number, later = save(), now + timedelta(days=1)
    expected = replace(EVENT, id=number).with_state(EventState.EXPECTED, until=date(2026, 12, 1))
    save(expected, "safer", now=later, author="alice")

    with read_session(any_engine) as session:
        view = event_by_id(session, project_id, number)
        notes = notes_of_event(session, number)
        [newest] = notes_since(session, project_id, later)
    assert (view.event, view.opened_at, view.changed_at) == (expected, now, later)
    assert [note.author for note in notes] == ["", "alice"]
    assert newest == notes[1]


def test_events_are_listed_newest_first_by_state_and_page_by_page(
    any_engine, project_id, save, now
):
    numbers = [save() for _ in range(4)]
    save(replace(EVENT, id=numbers[1], state=EventState.FIXED))

    with read_session(any_engine) as session:
        newest = events_of(session, project_id, most=2)
        older = events_of(session, project_id, before=numbers[2], most=2)
        fixed = events_of(session, project_id, states=(EventState.FIXED,), most=9)
        tracked = tracked_events(session, project_id, today=now.date())
    assert [view.event.id for view in newest] == [numbers[3], numbers[2]]
    assert [view.event.id for view in older] == [numbers[1], numbers[0]]
    assert [view.event.id for view in fixed] == [numbers[1]]
    assert [event.id for event in tracked] == numbers


def test_events_of_imports_crowd_out_none_of_the_projects_own(
    any_engine, project_id, save, now, monkeypatch
):
    monkeypatch.setattr(tracked_events_module, "MAX_TRACKED", 2)
    series = replace(SERIES, machine_class="imported:asv, box:1")
    occurrence = replace(EVENT.occurrences[0], series=(series,))
    imported_event = replace(EVENT, occurrences=(occurrence,))
    own = [save() for _ in range(3)]
    imported = [save(imported_event) for _ in range(5)]
    own.append(save())

    def numbers(*, most, **choice):
        with read_session(any_engine) as session:
            return [view.event.id for view in events_of(session, project_id, most=most, **choice)]

    assert numbers(is_imported=False, most=2) == [own[3], own[2]]
    assert numbers(is_imported=False, most=9) == own[::-1]
    assert numbers(is_imported=True, most=2) == [imported[4], imported[3]]
    assert numbers(most=3) == [own[3], imported[4], imported[3]]
    with read_session(any_engine) as session:
        tracked = tracked_events(session, project_id, today=now.date())
    assert [event.id for event in tracked] == [own[2], *imported[3:], own[3]]


def test_an_old_event_is_tracked_again_once_its_expectation_is_over(
    any_engine, project_id, save, now, monkeypatch
):
    monkeypatch.setattr(tracked_events_module, "MAX_TRACKED", 2)
    expected = save(EVENT.with_state(EventState.EXPECTED, until=now.date()))
    numbers = [save() for _ in range(3)]

    def tracked(today):
        with read_session(any_engine) as session:
            return [event.id for event in tracked_events(session, project_id, today=today)]

    assert tracked(now.date()) == numbers[1:]
    assert tracked(now.date() + timedelta(days=1)) == [expected, *numbers[1:]]


def test_another_projects_event_is_not_there(any_engine, project_id, save, now):
    number = save(project_id=project_id + 1)

    with read_session(any_engine) as session:
        assert events_of(session, project_id, most=9) == ()
        assert notes_since(session, project_id, now) == ()
        with pytest.raises(NotFoundError, match=f"no event {number}"):
            event_by_id(session, project_id, number)


def test_the_events_of_a_pull_request_are_its_own(any_engine, project_id, save):
    number = save(replace(EVENT, pull_request=7))
    save(replace(EVENT, pull_request=8))

    with read_session(any_engine) as session:
        [event] = events_of_pull_request(session, project_id, 7)
    assert event.id == number


def test_a_search_is_due_until_all_changes_are_searched(any_engine, project_id, now):
    def due():
        with read_session(any_engine) as session:
            return [
                (one.project_id, one.changes) for one in due_searches(session, today=now.date())
            ]

    def write(function, *arguments):
        with write_session(any_engine) as session:
            function(session, project_id, *arguments)
            session.commit()

    assert due() == []
    write(mark_search_due)
    write(mark_search_due)
    assert due() == [(project_id, 2)]
    write(set_searched, 1, NOTHING)
    with read_session(any_engine) as session:
        assert searched_changes(session, project_id) == 1
    assert due() == [(project_id, 2)]
    write(set_searched, 2, NOTHING)
    assert due() == []


def test_a_search_that_an_older_version_did_not_store_is_due(any_engine, project_id, now):
    with write_session(any_engine) as session:
        mark_search_due(session, project_id)
        set_searched(session, project_id, 1, NOTHING)
        mark_search_due(session, project_id)
        session.exec(update(EventSearchRow).values(searched=2))  # as versions before 0024 do
        session.commit()

    with read_session(any_engine) as session:
        assert due_searches(session, today=now.date()) == (DueSearch(project_id, 2, 2),)
        assert newest_search(session, project_id) == (NOTHING, True)


def test_a_search_is_due_where_an_expectation_ended(any_engine, project_id, save, now):
    save(EVENT.with_state(EventState.EXPECTED, until=now.date()))
    with write_session(any_engine) as session:
        mark_search_due(session, project_id)
        set_searched(session, project_id, 1, NOTHING)
        session.commit()

    with read_session(any_engine) as session:
        assert due_searches(session, today=now.date()) == ()
        tomorrow = now.date() + timedelta(days=1)
        assert due_searches(session, today=tomorrow) == (DueSearch(project_id, 1, 1),)
