"""Builds the view of what there is to decide of a project: its events, each with what confirms it.

An event is stored with its state, and the newest search of the history has its details: whether
other machines changed as well, and how many series there are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlmodel import Session

from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.history.commits.event_tracking import place_of
from perfledger_baselines.history.commits.grouping import ChangeEvent, EnvironmentChange
from perfledger_baselines.history.commits.tracked_event import (
    EventOccurrence,
    SeriesKey,
    changed_series,
)
from perfledger_service.store.confirmation_state import alerts_of
from perfledger_service.store.costs.changed_uploads import ChangedUpload, changed_uploads
from perfledger_service.store.events.tracked_events import (
    MOST_TRACKED,
    events_of,
    newest_search,
    notes_since,
)
from perfledger_service.store.projects import Project
from perfledger_service.usecases.cost.upload_prices import MAX_CHECKS, UploadPrices
from perfledger_service.usecases.history.branch_history import branch_view
from perfledger_service.usecases.history.gate_health import ProjectGates
from perfledger_service.values.branch_views import (
    AlertView,
    BranchSearch,
    BranchView,
    EventView,
    TriagedEvent,
    TriagePart,
)

NOTES_PERIOD = timedelta(days=7)
# Reading and pricing a check takes some hundredths of a second, once.
MOST_PRICED = 20

_NOT_YET = datetime.max.replace(tzinfo=UTC)  # a change that is not stored yet is the newest

Change = ChangeEvent | EnvironmentChange
_Place = tuple[str, str, frozenset[SeriesKey]]


def project_triage(
    session: Session, project: Project, *, gates: ProjectGates, prices: UploadPrices, now: datetime
) -> BranchView:
    """Return the view of a project's default branch with its events, newest first."""
    view = branch_view(session, project, gates=gates)
    stored = [
        each
        for is_imported in (False, True)
        for each in events_of(session, project.id, is_imported=is_imported, most=MOST_TRACKED)
    ]
    events = triaged_events(view.search, stored, view.alerts)
    imported_ids = {each.event.id for each in stored if each.is_imported}
    matched = {one.upload_id for each in events for one in each.alerts}
    return replace(
        view,
        events=_with_prices(session, project.id, events, prices),
        alerts=tuple(one for one in view.alerts if one.upload_id not in matched),
        notes=tuple(
            one
            for one in notes_since(session, project.id, now - NOTES_PERIOD)
            if one.event_id not in imported_ids
        ),
    )


def triaged_event(
    session: Session, project: Project, view: EventView, *, prices: UploadPrices
) -> tuple[TriagedEvent, tuple[str, ...]]:
    """Return one stored event with what else is known of it, and the commits of the search."""
    search = newest_search(session, project.id)
    if search is None:
        return TriagedEvent(view=view, change=None), ()
    events = triaged_events(search[0], [view], alerts_of(session, project.id))
    (event,) = (each for each in events if each.view is not None)
    (priced_event,) = _with_prices(session, project.id, [event], prices)
    return priced_event, search[0].commits


def triaged_events(
    search: BranchSearch, stored: Sequence[EventView], alerts: Sequence[AlertView]
) -> tuple[TriagedEvent, ...]:
    """Return stored events and the changes of a search that are not stored yet, newest first."""
    places = {sha: place for place, sha in enumerate(search.commits)}
    changes = dict(_changes_by_place(search))
    events: list[tuple[datetime, int, TriagedEvent]] = []
    for view in sorted(stored, key=lambda one: one.event.id, reverse=True):
        last = view.event.occurrences[-1] if view.event.occurrences else None
        change = changes.pop(_place_key(last), None) if last else None
        confirming = tuple(_confirming(last, alerts, places)) if last else ()
        triaged = TriagedEvent(view=view, change=change, alerts=confirming)
        events.append((view.opened_at, places.get(last.last_sha, -1) if last else -1, triaged))
    for change in changes.values():
        occurrence = _occurrence(search, change)
        confirming = tuple(_confirming(occurrence, alerts, places))
        triaged = TriagedEvent(view=None, change=change, alerts=confirming)
        events.append((_NOT_YET, change.commits.last, triaged))
    events.sort(key=lambda one: one[:2], reverse=True)
    return tuple(triaged for _, _, triaged in events)


def _changes_by_place(search: BranchSearch) -> Iterator[tuple[_Place, Change]]:
    """Return the significant changes of a search by their commits and series."""
    grouped = search.grouped_changes
    changes: list[Change] = [each for each in grouped.events if each.is_significant]
    for change in (*changes, *grouped.environment_changes):
        yield _place_key(_occurrence(search, change)), change


def _occurrence(search: BranchSearch, change: Change) -> EventOccurrence:
    return EventOccurrence(
        after_sha=search.commits[change.commits.first - 1],
        last_sha=search.commits[change.commits.last],
        series=changed_series(change),
    )


def _place_key(occurrence: EventOccurrence) -> _Place:
    return occurrence.after_sha, occurrence.last_sha, occurrence.keys


def _confirming(
    occurrence: EventOccurrence, alerts: Sequence[AlertView], places: Mapping[str, int]
) -> Iterator[AlertView]:
    """Return the alerts of an event: of one of its series, in commits that overlap."""
    commits = place_of(occurrence, places)
    members = {(one.workload, one.machine_class) for one in occurrence.series}
    for view in alerts:
        alerted = _alerted_commits(view, places)
        is_of_series = (view.alert.workload, view.alert.machine_class) in members
        if commits and alerted and is_of_series and alerted.distance(commits) == 0:
            yield view


def _alerted_commits(view: AlertView, places: Mapping[str, int]) -> CommitRange | None:
    """Return the commits of an alert by their places, None if they are not on the branch."""
    last = places.get(view.last_sha)
    if last is None:
        return None
    return CommitRange(min(places.get(view.after_sha, last - 1) + 1, last), last)


def _with_prices(
    session: Session, project_id: int, events: Sequence[TriagedEvent], prices: UploadPrices
) -> tuple[TriagedEvent, ...]:
    """Return events with the checks that priced their change: of the newest that are unsettled."""
    unsettled = [n for n, each in enumerate(events) if each.part is not TriagePart.SETTLED]
    if not unsettled:
        return tuple(events)
    checks = changed_uploads(session, project_id, most=MAX_CHECKS)
    chosen = {
        number: check
        for number in unsettled[:MOST_PRICED]
        if (check := _check_of(events[number], checks)) is not None
    }
    priced = prices.of_checks(session, tuple(chosen.values()))
    by_number = dict(zip(chosen, priced, strict=True))
    return tuple(
        replace(each, priced_check=by_number.get(number)) for number, each in enumerate(events)
    )


def _check_of(event: TriagedEvent, checks: Sequence[ChangedUpload]) -> ChangedUpload | None:
    """Return the newest check that found an event: an A/B run, a commit's or a pull request's."""
    confirming = {one.upload_id for one in event.alerts}
    tracked = event.view.event if event.view else None
    last_sha = tracked.occurrences[-1].last_sha if tracked and tracked.occurrences else None
    for check in checks:
        upload = check.upload
        is_of_pull_request = (
            tracked is not None
            and tracked.pull_request is not None
            and upload.pull_request == tracked.pull_request
        )
        is_of_commit = check.is_on_branch and upload.head_sha == last_sha
        if upload.id in confirming or is_of_pull_request or is_of_commit:
            return check
    return None
