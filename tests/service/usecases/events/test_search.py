"""From uploads of the default branch to events: found, undone, and expected after a merge."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import update

from perfledger.bundle import Plan
from perfledger.metrics import STEP_TIME
from perfledger.records import Revision
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import EventUpdate
from perfledger_service.store.branch_commits import put_places
from perfledger_service.store.confirmation_state import confirmation_state_of
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import (
    due_searches,
    events_of_pull_request,
    mark_search_due,
    newest_search,
    save_event,
    tracked_events,
)
from perfledger_service.store.events.tables import EventSearchRow
from perfledger_service.store.projects import project_for, project_named
from perfledger_service.store.tables import SeriesRow
from perfledger_service.usecases.events.pull_requests import merge_events
from perfledger_service.usecases.events.search import (
    places_of_commits,
    search_events,
    search_project,
)
from perfledger_service.usecases.history.branch import branch_view
from perfledger_service.usecases.history.gate_health import ProjectGates

PROJECT = 1


def sha(commit):
    return f"{commit:040x}"


@pytest.fixture
def check(any_engine, judged, make_bundle, now):
    """Check commits one after another, each against its parent, all at one level."""

    def check(*commits, level=1.0, ratio=1.0, **values):
        for commit in commits:
            bundle = make_bundle(
                **{
                    "ratio": ratio,
                    "pairs": 4,
                    "samples": 2,
                    "seed": commit,
                    "base": Revision(sha=sha(commit - 1), depth=commit - 1),
                    "head": Revision(sha=sha(commit), depth=commit),
                    "plan": Plan(seed=1, order=("base",) * 4, looks=(4,)),
                    "pull_request": None,
                    **values,
                }
            )
            runs = tuple(
                replace(
                    run,
                    samples={
                        name: tuple(
                            (level if name == STEP_TIME.name else 1) * one for one in samples
                        )
                        for name, samples in run.samples.items()
                    },
                )
                for run in bundle.runs
            )
            judged(
                any_engine,
                replace(bundle, runs=runs),
                upload_id=f"{commit:032x}",
                now=now,
                trust_runners=True,
            )

    return check


@pytest.fixture(scope="module")
def quiet_file(tmp_path_factory):
    return tmp_path_factory.mktemp("quiet") / "quiet.db"


@pytest.fixture
def quiet(any_engine, check, quiet_file):
    """Check a dozen commits that change nothing, or take what another test stored of them."""

    def quiet():
        is_new = any_engine.dialect.name != "sqlite" or not quiet_file.exists()
        if is_new:
            check(*range(1, 13))
        if any_engine.dialect.name == "sqlite":
            copy(any_engine, quiet_file, is_new=is_new)

    return quiet


def copy(engine, file, *, is_new):
    """Copy what a SQLite engine has to a new file, or a file to the engine."""
    with engine.connect() as connection, closing(sqlite3.connect(file)) as stored:
        own = connection.connection.driver_connection
        source, target = (own, stored) if is_new else (stored, own)
        source.backup(target)


@pytest.fixture
def search(any_engine, now):
    def search():
        search_events(any_engine, now=now)
        with read_session(any_engine) as session:
            return tracked_events(session, PROJECT, today=now.date())

    return search


@pytest.mark.slow(ci_only=True)
def test_a_change_of_the_branch_is_an_event_and_what_undoes_it_fixes_it(
    any_engine, quiet, check, search, now
):
    quiet()
    check(*range(14, 22), level=1.2)
    [event] = [one for one in search() if one.harm is Harm.WORSE]
    assert event.state is EventState.OPEN
    assert event.occurrences[0].last_sha in {sha(commit) for commit in range(12, 16)}
    with read_session(any_engine) as session:
        assert due_searches(session, today=now.date()) == ()

    check(*range(23, 31))
    events = search()
    assert {one.state for one in events if one.harm is Harm.WORSE} == {EventState.FIXED}
    assert search() == events


@pytest.mark.slow(ci_only=True)
def test_an_accepted_regression_is_the_new_level_from_its_merge_on(
    any_engine, quiet, check, search, now
):
    quiet()
    check(99, pull_request=7, ratio=1.2, base=Revision(sha=sha(12), depth=12))
    with write_session(any_engine) as session:
        [event] = events_of_pull_request(session, PROJECT, 7)
        expected = event.with_state(EventState.EXPECTED, set_by="alice", reason="safer")
        save_event(session, PROJECT, EventUpdate(expected), now=now)
        merge_events(session, PROJECT, 7, sha(13), now=now)
        session.commit()

    check(*range(14, 22), level=1.2)

    [event] = [one for one in search() if one.harm is Harm.WORSE]
    assert (event.state, event.merged_sha, event.reason) == (
        EventState.EXPECTED,
        sha(13),
        "safer",
    )
    with read_session(any_engine) as session:
        assert confirmation_state_of(session, PROJECT).requests == ()


def test_a_commit_that_was_not_measured_is_where_the_next_one_is(any_engine, check, now):
    check(2, 6)
    with write_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
        put_places(session, project.id, {sha(3): 3, sha(9): 9})
        session.commit()

        places = places_of_commits(session, project.id)
    assert places == {sha(1): 0, sha(2): 1, sha(3): 2, sha(5): 2, sha(6): 3}


def test_a_page_shows_the_newest_search_and_that_another_one_is_due(any_engine, check, search):
    def view():
        with read_session(any_engine) as session:
            return branch_view(session, project_named(session, "octo/models"), gates=ProjectGates())

    check(2)
    assert not view().is_search_due  # of a history that was never searched
    search()
    first = view()
    check(3)
    second = view()
    search()

    assert first.search.commits == (sha(1), sha(2))
    assert (second.search, second.is_search_due) == (first.search, True)
    assert (view().search.commits, view().is_search_due) == ((sha(1), sha(2), sha(3)), False)


@pytest.mark.parametrize(
    "other",
    [
        {"content": b"\x80", "version": 0},
        {"content": None, "content_changes": 0},
        {"content_changes": 0},
    ],
)
def test_a_search_that_another_version_stored_is_made_again(any_engine, check, search, now, other):
    check(2)
    search()
    with write_session(any_engine) as session:
        session.exec(update(EventSearchRow).values(**other))
        session.commit()

    with read_session(any_engine) as session:
        view = branch_view(session, project_named(session, "octo/models"), gates=ProjectGates())
        assert len(due_searches(session, today=now.date())) == 1
    assert view.search.commits == (sha(1), sha(2))
    search()
    with read_session(any_engine) as session:
        assert due_searches(session, today=now.date()) == ()
        assert newest_search(session, PROJECT) == (view.search, False)


def test_of_two_replicas_that_search_a_project_at_once_one_stores_it(any_engine, check, now):
    check(2)
    with read_session(any_engine) as session:
        [due] = due_searches(session, today=now.date())

    assert search_project(any_engine, due, now=now)
    assert not search_project(any_engine, due, now=now)
    with read_session(any_engine) as session:
        assert due_searches(session, today=now.date()) == ()


def test_a_project_whose_history_cannot_be_read_does_not_stop_the_others(
    any_engine, check, now, caplog
):
    check(2)
    with write_session(any_engine) as session:
        other = project_for(session, "octo/other", now=now)
        mark_search_due(session, other.id)
        mark_search_due(session, PROJECT)
        session.exec(update(SeriesRow).values(metric="step_time_p50", worse="sideways"))
        session.commit()
    search_events(any_engine, now=now)

    with read_session(any_engine) as session:
        assert [one.project_id for one in due_searches(session, today=now.date())] == [PROJECT]
    assert "a history is not searched" in caplog.text
