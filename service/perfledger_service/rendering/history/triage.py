"""Lists a project's events, each with its state, its price and the A/B runs that confirm it.

Names of commits and workloads are untrusted text, not escaped yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from perfledger.records import short_sha
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.grouping import ChangeEvent, GroupedChanges
from perfledger_baselines.history.commits.tracked_event import ChangedSeries
from perfledger_cost_models.quote import ChangePrice
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.event_rows import (
    MAX_MOVED_SERIES,
    EventRow,
    MovedSeriesRow,
    event_rows,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.values.branch_views import EventView, TriagedEvent, is_imported_class

# All but fixed, which is set by a later change that undoes the event, never by a person.
SETTABLE_STATES = tuple(state for state in EventState if state is not EventState.FIXED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmingCheck:
    """An A/B run that confirmed an event."""

    upload_id: str
    device: str  # untrusted


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPrice:
    """The yearly cost of a workload's change, and the check that priced it."""

    workload: str  # untrusted
    amount: str
    interval: str
    upload_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageRow:
    """An event with its evidence, its decision and the cost of its change."""

    event: EventRow
    number: int | None  # None until it is stored
    pull_request: int | None  # None for an event in the branch's history
    machine_class: str  # of all of its series, untrusted; "" if each series names its own
    certainty: str  # "confirmed", "suspected", or "" for a change of the machine
    state: str  # "" until it is stored
    opened_on: str
    state_since: str
    terms: str  # reason, owner and last day, untrusted
    checks: tuple[ConfirmingCheck, ...]
    prices: tuple[EventPrice, ...]  # the most expensive first


def triage_row(event: TriagedEvent, commits: Sequence[str]) -> TriageRow:
    """Return an event as its project's page shows it; `commits` are the measured ones."""
    view = event.view
    return TriageRow(
        event=_event_row(event, commits),
        number=view.event.id if view else None,
        pull_request=view.event.pull_request if view and not view.event.occurrences else None,
        machine_class=_only_class(event),
        certainty=_certainty(event),
        state=view.event.state.value if view else "",
        opened_on=number_format.day(view.opened_at) if view else "",
        state_since=number_format.day(view.changed_at) if view else "",
        terms=terms(view) if view else "",
        checks=tuple(
            ConfirmingCheck(
                upload_id=one.upload_id,
                device=stored_verdict_rows.device(one.alert.machine_class),
            )
            for one in event.alerts
        ),
        prices=tuple(_event_price(event, one) for one in event.prices),
    )


def where(view: EventView) -> str:
    """Return where an event is: a git range of commits, or an unmerged pull request."""
    event = view.event
    if not event.occurrences:
        return f"#{event.pull_request}"
    place = event.occurrences[-1]
    last = short_sha(place.last_sha)
    return f"{short_sha(place.after_sha)}..{last}" if place.after_sha else last


def terms(view: EventView) -> str:
    """Return an event's reason, its owner, and until when it holds."""
    event = view.event
    parts = (
        f"owner {event.owner}" if event.owner else "",
        f"until {event.until}" if event.until else "",
        "" if event.is_detected else "no longer found",
        "imported" if view.is_imported else "",
    )
    return "; ".join(filter(None, (event.reason, *parts)))


def yearly_usd(event: TriagedEvent) -> Decimal:
    """Return the yearly cost of an event's priced changes, in USD."""
    return sum((price.usd or Decimal(0) for price in event.prices), Decimal(0))


def _only_class(event: TriagedEvent) -> str:
    """Return the machine class that all series of an event share, "" if each names its own."""
    if isinstance(event.change, ChangeEvent):
        members = event.change.members
        classes = {one.change.series.machine_class for one in members if one.is_significant}
    elif event.change is None and event.view is not None:
        classes = {one.machine_class for one in event.view.event.series}
    else:
        return ""
    return classes.pop() if len(classes) == 1 and not any(map(is_imported_class, classes)) else ""


def _certainty(event: TriagedEvent) -> str:
    tracked = event.view.event if event.view else None
    is_of_machine = tracked is not None and tracked.state is EventState.ENVIRONMENT
    if is_of_machine or not (tracked or isinstance(event.change, ChangeEvent)):
        return ""
    is_measured = tracked is not None and tracked.pull_request is not None
    return "confirmed" if event.alerts or is_measured else "suspected"


def _event_row(event: TriagedEvent, commits: Sequence[str]) -> EventRow:
    """Return an event as the newest search found it, else as stored."""
    if event.change is None:
        assert event.view is not None  # noqa: S101 - it is from one or the other
        return _stored_row(event.view)
    if isinstance(event.change, ChangeEvent):
        alone = GroupedChanges(events=(event.change,), environment_changes=())
    else:
        alone = GroupedChanges(events=(), environment_changes=(event.change,))
    names = [short_sha(sha) for sha in commits]
    (row,) = event_rows(alone, names)
    return row


def _stored_row(view: EventView) -> EventRow:
    event = view.event
    is_worse = event.harm is Harm.WORSE
    classes = {one.machine_class for one in event.series}
    shows_class = len(classes) > 1 or view.is_imported
    return EventRow(
        commits=where(view),
        what=str(event.harm),
        tone="regressed" if is_worse else "improved",
        summary=f"{len(event.series)} series",
        moved_series=tuple(
            _series_row(one, shows_class=shows_class) for one in event.series[:MAX_MOVED_SERIES]
        ),
        detail="",
    )


def _series_row(series: ChangedSeries, *, shows_class: bool) -> MovedSeriesRow:
    size, interval = number_format.change(series.change, series.low, series.high)
    return MovedSeriesRow(
        workload=series.workload,
        metric=series.metric,
        machine_class=series.machine_class if shows_class else "",
        size=size,
        interval=interval,
        was_first=False,
    )


def _event_price(event: TriagedEvent, price: ChangePrice) -> EventPrice:
    assert price.usd is not None  # noqa: S101 - those without are left out
    low, high = price.low or price.usd, price.high or price.usd
    amount, interval = number_format.yearly_usd(price.usd, low, high)
    return EventPrice(
        workload=price.workload,
        amount=f"{'-' if price.usd < 0 else '+'}{amount}",
        interval=interval,
        upload_id=event.priced_check.upload_id if event.priced_check else "",
    )
