"""Searches histories for events again after they changed, and keeps their states up to date."""

from bisect import bisect_left
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_baselines.history.commits.ab_candidates import CandidateSeries, ab_candidates
from perfledger_baselines.history.commits.confirmation_state import AbCandidate
from perfledger_baselines.history.commits.event_tracking import (
    SearchedHistory,
    is_expected,
    track_events,
)
from perfledger_baselines.history.commits.grouping import group_changes
from perfledger_service.store.branch_commits import branch_places
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.default_branch import branch_series, commits_of_branch
from perfledger_service.store.events.tracked_events import (
    due_searches,
    save_event,
    set_searched,
    tracked_events,
)
from perfledger_service.store.projects import lock_project
from perfledger_service.usecases.history.branch_history import observed_series


def search_events(engine: Engine, *, now: datetime) -> None:
    """Search the history of every project that changed since its last search.

    The search is made before the project is locked: where an upload comes in between, the project
    is due again.
    """
    with read_session(engine) as session:
        due_projects = due_searches(session, today=now.date())
    for project_id, changes in due_projects.items():
        with read_session(engine) as session:
            history = _searched_history(session, project_id)
        with write_session(engine) as session:
            lock_project(session, project_id)
            for update in track_events(
                tracked_events(session, project_id), history, today=now.date()
            ):
                save_event(session, project_id, update, now=now)
            set_searched(session, project_id, changes)
            session.commit()


def places_of_commits(session: Session, project_id: int) -> dict[str, int]:
    """Return the places of a branch's commits among the measured ones.

    One that was not measured is where the next one is that was; those after the last are left out.
    """
    places = branch_places(session, project_id)
    commits = commits_of_branch(session, project_id)
    measured_places = [places[sha] for sha in commits]
    ranks = {sha: bisect_left(measured_places, place) for sha, place in places.items()}
    return {sha: rank for sha, rank in ranks.items() if rank < len(commits)}


def unexpected_candidates(
    session: Session, project_id: int, watched: list[CandidateSeries]
) -> tuple[AbCandidate, ...]:
    """Return the possible changes of series that A/B runs are to test.

    What was accepted is the new level from its merge on: it is no candidate again.
    """
    candidates = tuple(ab_candidates(watched))
    if not candidates:
        return ()
    places = places_of_commits(session, project_id)
    events = tracked_events(session, project_id)
    return tuple(
        one for one in candidates if not any(is_expected(one, event, places) for event in events)
    )


def _searched_history(session: Session, project_id: int) -> SearchedHistory:
    series = observed_series(branch_series(session, project_id))
    return SearchedHistory(
        commits=commits_of_branch(session, project_id),
        places=places_of_commits(session, project_id),
        changes=group_changes(series),
        series=series,
    )
