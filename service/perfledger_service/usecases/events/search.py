"""Searches changed histories for events again, and keeps the events' states up to date."""

from bisect import bisect_left
from collections.abc import Sequence
from datetime import date, datetime

import structlog
from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_baselines.history.commits.confirmation_state import AbCandidate
from perfledger_baselines.history.commits.event_tracking import (
    SearchedHistory,
    is_expected,
    track_events,
)
from perfledger_service.store.branch_commits import branch_places
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import commits_of_branch
from perfledger_service.store.events.events import (
    DueSearch,
    due_searches,
    save_event,
    searched_changes,
    set_searched,
    tracked_events,
)
from perfledger_service.store.projects import lock_project
from perfledger_service.usecases.history.branch import search_branch

_log = structlog.stdlib.get_logger(__name__)


def search_events(engine: Engine, *, now: datetime) -> None:
    """Search the history of every project that changed since its last search.

    A failure in one project is logged and does not stop the others.
    """
    with read_session(engine) as session:
        searches = due_searches(session, today=now.date())
    for due in searches:
        try:
            search_project(engine, due, now=now)
        except Exception as error:  # this project fails, the others are searched
            _log.error("a history is not searched", project_id=due.project_id, exc_info=error)


def search_project(engine: Engine, due: DueSearch, *, now: datetime) -> bool:
    """Search the history of a project; return False if another replica did so meanwhile.

    The search runs before the project is locked: if an upload arrives in between, the project is
    due again. If another replica stored a search, this one may be of an older history.
    """
    with read_session(engine) as session:
        search, series = search_branch(session, due.project_id)
        places = places_of_commits(session, due.project_id)
    history = SearchedHistory(
        commits=search.commits, places=places, changes=search.grouped_changes, series=series
    )
    with write_session(engine) as session:
        lock_project(session, due.project_id)
        if searched_changes(session, due.project_id) != due.searched:
            return False
        events = tracked_events(session, due.project_id, today=now.date())
        for update in track_events(events, history, today=now.date()):
            save_event(session, due.project_id, update, now=now)
        set_searched(session, due.project_id, due.changes, search)
        session.commit()
    return True


def places_of_commits(session: Session, project_id: int) -> dict[str, int]:
    """Return the places of a branch's commits among the measured ones.

    An unmeasured commit takes the place of the next measured one; those after the last are left
    out.
    """
    places = branch_places(session, project_id)
    commits = commits_of_branch(session, project_id)
    measured_places = [places[sha] for sha in commits]
    ranks = {sha: bisect_left(measured_places, place) for sha, place in places.items()}
    return {sha: rank for sha, rank in ranks.items() if rank < len(commits)}


def unexpected_candidates(
    session: Session, project_id: int, candidates: Sequence[AbCandidate], *, today: date
) -> tuple[AbCandidate, ...]:
    """Return the candidates that A/B runs should test: those that nobody expects.

    An accepted change is the new level from its merge on, and not a candidate again.
    """
    if not candidates:
        return ()
    places = places_of_commits(session, project_id)
    events = tracked_events(session, project_id, today=today)
    return tuple(
        one for one in candidates if not any(is_expected(one, event, places) for event in events)
    )
