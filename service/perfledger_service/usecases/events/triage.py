"""Builds the triage view of a project: its open events, each with the check that confirms it.

An event is stored with its state; its details, such as whether other machines changed as well and
how many series there are, come from the newest search of the history.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from sqlmodel import Session

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_tracking import occurrence_of
from perfledger_baselines.history.commits.grouping import (
    ChangeEvent,
    EnvironmentChange,
    GroupedChanges,
)
from perfledger_baselines.history.commits.tracked_event import (
    EventOccurrence,
    SeriesKey,
)
from perfledger_cost_models.quote import ChangePrice
from perfledger_service.store.confirmation_state import alerts_of
from perfledger_service.store.costs.changed_uploads import ChangedUpload, changed_uploads
from perfledger_service.store.events.events import (
    MAX_TRACKED,
    events_of,
    newest_search,
    notes_since,
)
from perfledger_service.store.projects import Project
from perfledger_service.usecases.cost.upload_prices import MAX_CHECKS, UploadPrices
from perfledger_service.usecases.events.confirming_alerts import confirming_alerts
from perfledger_service.usecases.history.branch import branch_view
from perfledger_service.usecases.history.gate_health import ProjectGates, priced_gates
from perfledger_service.values.branch_views import (
    AlertView,
    BranchSearch,
    BranchView,
    EventView,
    TriagedEvent,
    TriagePart,
)
from perfledger_service.values.change_price import PricedCheck

NOTES_PERIOD = timedelta(days=7)
# Reading and pricing a check takes some hundredths of a second, done once.
MAX_PRICED = 20
MAX_CANDIDATES = 3  # checks of an event to look at; the newest may have changed something else

_NOT_YET = datetime.max.replace(tzinfo=UTC)  # a change that is not stored yet is the newest

_NO_SEARCH = BranchSearch(
    commits=(), grouped_changes=GroupedChanges(events=(), environment_changes=()), watched=0
)

Change = ChangeEvent | EnvironmentChange
_Place = tuple[str, str, frozenset[SeriesKey]]


def project_triage(
    session: Session, project: Project, *, gates: ProjectGates, prices: UploadPrices, now: datetime
) -> BranchView:
    """Return the triage view of a project's default branch with its events, newest first."""
    view = branch_view(session, project, gates=gates)
    stored = [
        each
        for is_imported in (False, True)
        for each in events_of(session, project.id, is_imported=is_imported, most=MAX_TRACKED)
    ]
    events = triaged_events(view.search, stored, view.alerts)
    imported_ids = {each.event.id for each in stored if each.is_imported}
    matched = {one.upload_id for each in events for one in each.alerts}
    return replace(
        view,
        gates=priced_gates(view.gates, today=now.date()),
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
    """Return one stored event with its details, and the commits of the search."""
    search = (newest_search(session, project.id) or (_NO_SEARCH, True))[0]
    events = triaged_events(search, [view], alerts_of(session, project.id))
    (event,) = (each for each in events if each.view is not None)
    (priced_event,) = _with_prices(session, project.id, [event], prices)
    return priced_event, search.commits


def workload_events(
    session: Session, project: Project, workload: str
) -> tuple[tuple[TriagedEvent, ...], tuple[str, ...]]:
    """Return a workload's stored events, newest first, and the commits of the search.

    The events have no prices, and those of an import are left out.
    """
    stored = [
        view
        for view in events_of(session, project.id, is_imported=False, most=MAX_TRACKED)
        if any(one.workload == workload for one in view.event.series)
    ]
    if not stored:
        return (), ()
    search = (newest_search(session, project.id) or (_NO_SEARCH, True))[0]
    events = triaged_events(search, stored, alerts_of(session, project.id))
    return tuple(one for one in events if one.view is not None), search.commits


def triaged_events(
    search: BranchSearch, stored: Sequence[EventView], alerts: Sequence[AlertView]
) -> tuple[TriagedEvent, ...]:
    """Return stored events and the changes of a search that are not stored yet, newest first."""
    places = {sha: index for index, sha in enumerate(search.commits)}
    changes = dict(_changes_by_place(search))
    events: list[tuple[datetime, int, TriagedEvent]] = []
    for view in sorted(stored, key=lambda one: one.event.id, reverse=True):
        last = view.event.occurrences[-1] if view.event.occurrences else None
        change = changes.pop(_place_key(last), None) if last else None
        confirming = confirming_alerts(last, alerts, places) if last else ()
        triaged = TriagedEvent(view=view, change=change, alerts=confirming)
        events.append((view.opened_at, places.get(last.last_sha, -1) if last else -1, triaged))
    for change in changes.values():
        occurrence = occurrence_of(change, search.commits)
        confirming = confirming_alerts(occurrence, alerts, places)
        triaged = TriagedEvent(view=None, change=change, alerts=confirming)
        events.append((_NOT_YET, change.commits.last, triaged))
    events.sort(key=lambda one: one[:2], reverse=True)
    return tuple(triaged for _, _, triaged in events)


def _changes_by_place(search: BranchSearch) -> Iterator[tuple[_Place, Change]]:
    """Return the significant changes of a search by their commits and series."""
    grouped = search.grouped_changes
    changes: list[Change] = [each for each in grouped.events if each.is_significant]
    for change in (*changes, *grouped.environment_changes):
        yield _place_key(occurrence_of(change, search.commits)), change


def _place_key(occurrence: EventOccurrence) -> _Place:
    return occurrence.after_sha, occurrence.last_sha, occurrence.keys


def _with_prices(
    session: Session, project_id: int, events: Sequence[TriagedEvent], prices: UploadPrices
) -> tuple[TriagedEvent, ...]:
    """Return events with the prices of their changes, for the newest unsettled ones."""
    unsettled = [n for n, each in enumerate(events) if each.part is not TriagePart.SETTLED]
    if not unsettled:
        return tuple(events)
    checks = changed_uploads(session, project_id, most=MAX_CHECKS)
    priced = {n: _with_price(session, events[n], checks, prices) for n in unsettled[:MAX_PRICED]}
    return tuple(priced.get(number, each) for number, each in enumerate(events))


def _with_price(
    session: Session, event: TriagedEvent, checks: Sequence[ChangedUpload], prices: UploadPrices
) -> TriagedEvent:
    """Return an event with prices from the newest of its checks that has any."""
    candidates = [check for check in checks if _is_of_event(check, event)]
    for check in candidates[:MAX_CANDIDATES]:
        (priced_check,) = prices.of_checks(session, (check,))
        own_prices = _own_prices(event, priced_check)
        if own_prices:
            return replace(event, priced_check=priced_check, prices=own_prices)
    return event


def _is_of_event(check: ChangedUpload, event: TriagedEvent) -> bool:
    """Return whether a check is an A/B run of an event, or measures its commit or pull request."""
    tracked, upload = event.view.event if event.view else None, check.upload
    if tracked is None or upload.machine_class not in {one.machine_class for one in tracked.series}:
        return False
    is_of_pull_request = tracked.pull_request is not None and not tracked.occurrences
    if is_of_pull_request:
        return upload.pull_request == tracked.pull_request
    is_of_commit = check.is_on_branch and upload.head_sha == tracked.occurrences[-1].last_sha
    return is_of_commit or upload.id in {one.upload_id for one in event.alerts}


def _own_prices(event: TriagedEvent, check: PricedCheck) -> tuple[ChangePrice, ...]:
    """Return the prices of an event's step times on a check's machine, most expensive first.

    Changes in the other direction have another cause and are left out.
    """
    tracked = event.view.event if event.view else None
    if tracked is None:
        return ()
    workloads = {
        one.workload
        for one in tracked.series
        if one.metric == STEP_TIME.name and one.machine_class == check.machine_class
    }
    sign = 1 if tracked.harm is Harm.WORSE else -1
    own_prices = [
        price
        for price in check.prices
        if price.workload in workloads and price.usd is not None and price.usd * sign > 0
    ]
    return tuple(sorted(own_prices, key=lambda price: price.usd or Decimal(0), reverse=True))
