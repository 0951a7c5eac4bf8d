"""Tracks what a pull request regresses or improves: measured, accepted, merged or closed."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlmodel import Session

from perfledger.bundle import Bundle
from perfledger.records import Side
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.pull_request_event import merge_event, remeasure_event
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventUpdate,
    TrackedEvent,
)
from perfledger_baselines.judging.judge import is_trade
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_service.store.comments.acceptances import acceptances_of
from perfledger_service.store.events.events import (
    events_of_pull_request,
    mark_search_due,
    save_event,
)
from perfledger_service.store.uploads import StoredUpload
from perfledger_service.values.acceptance import Acceptance

_HARMS = {Outcome.REGRESSED: Harm.WORSE, Outcome.IMPROVED: Harm.BETTER}
# An undecided result undoes nothing.
_DECIDED = frozenset({Outcome.REGRESSED, Outcome.IMPROVED, Outcome.UNCHANGED})
_UNSETTLED = frozenset({EventState.OPEN, EventState.ACKNOWLEDGED, EventState.EXPECTED})


def track_upload(
    session: Session,
    upload: StoredUpload,
    bundle: Bundle,
    verdicts: Sequence[Verdict],
    *,
    now: datetime,
) -> None:
    """Store the events of a judged upload; the caller holds the project's lock.

    An upload of the default branch only marks its history as due for a search.
    """
    mark_search_due(session, upload.project_id)
    if upload.pull_request is None:
        return
    classes = {
        workload: machine.machine_class
        for (workload, side), machine in bundle.machines().items()
        if side is Side.HEAD
    }
    events = events_of_pull_request(session, upload.project_id, upload.pull_request)
    decided_verdicts = [
        one for one in verdicts if one.outcome in _DECIDED and one.workload in classes
    ]
    keys = {(one.workload, one.metric.name, classes[one.workload]) for one in decided_verdicts}
    for harm in Harm:
        series = tuple(
            _series(one, classes[one.workload])
            for one in decided_verdicts
            if _HARMS.get(one.outcome) is harm and not is_trade(one, verdicts)
        )
        event = next((one for one in reversed(events) if _is_followed(one, harm)), None)
        if event is None and series:
            event = TrackedEvent(harm=harm, pull_request=upload.pull_request, is_detected=False)
        if event is not None:
            update = remeasure_event(event, series, keys, head_sha=upload.head_sha)
            if update.note or update.event != event:
                save_event(session, upload.project_id, update, now=now)


def expect_accepted(session: Session, project_id: int, pull_request: int, *, now: datetime) -> None:
    """Set a pull request's regression to expected if all of it was accepted.

    Called on each new acceptance, which covers the sizes measured by then. The caller holds the
    project's lock.
    """
    by_workload = {
        one.workload: one
        for one in acceptances_of(session, project_id, pull_request)
        if not one.is_of_commit
    }
    for event in events_of_pull_request(session, project_id, pull_request):
        workloads = sorted({one.workload for one in event.series})
        is_settled = event.harm is Harm.BETTER or event.state not in _UNSETTLED
        if is_settled or not workloads or not by_workload.keys() >= set(workloads):
            continue
        acceptances = [by_workload[name] for name in workloads]
        save_event(session, project_id, _expected_update(event, acceptances), now=now)


def merge_events(
    session: Session, project_id: int, pull_request: int, merged_sha: str, *, now: datetime
) -> None:
    """Move what a pull request changed into the branch's history, at the commit it was merged as.

    The caller holds the project's lock.
    """
    for event in events_of_pull_request(session, project_id, pull_request):
        if event.is_detected and event.state is not EventState.FIXED and not event.merged_sha:
            save_event(session, project_id, merge_event(event, merged_sha), now=now)
    mark_search_due(session, project_id)


def close_events(session: Session, project_id: int, pull_request: int, *, now: datetime) -> None:
    """Remove the changes of a pull request that was closed without a merge.

    The caller holds the project's lock.
    """
    for event in events_of_pull_request(session, project_id, pull_request):
        if event.is_detected and not event.merged_sha:
            update = EventUpdate(replace(event, is_detected=False), "closed without a merge")
            save_event(session, project_id, update, now=now)


def _is_followed(event: TrackedEvent, harm: Harm) -> bool:
    """Return whether an event of a pull request belongs to its newest pushes."""
    return event.harm is harm and not event.merged_sha


def _expected_update(event: TrackedEvent, acceptances: Sequence[Acceptance]) -> EventUpdate:
    """Return an event as expected until the first day on which an acceptance ends."""
    newest = max(acceptances, key=lambda one: one.accepted_at)
    expected_event = event.with_state(
        EventState.EXPECTED,
        set_by=newest.login,
        reason=newest.reason,
        owner=newest.login,
        until=min((one.until for one in acceptances if one.until is not None), default=None),
    )
    return EventUpdate(expected_event, f"accepted by {newest.login}: {newest.reason}")


def _series(verdict: Verdict, machine_class: str) -> ChangedSeries:
    """Return a verdict's changed series; without an estimate, the size is unknown."""
    estimate, unknown = verdict.estimate, float("nan")
    return ChangedSeries(
        workload=verdict.workload,
        metric=verdict.metric.name,
        machine_class=machine_class,
        before=estimate.base if estimate else 0.0,
        after=estimate.head if estimate else 0.0,
        change=estimate.change if estimate else unknown,
        low=estimate.low if estimate else unknown,
        high=estimate.high if estimate else unknown,
    )
