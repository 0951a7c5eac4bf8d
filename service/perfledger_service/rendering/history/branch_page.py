"""Renders the page of a project, which begins with the events to decide."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.event_rows import doubtful_events_sentence
from perfledger_service.rendering.history.gate_health import gate_rows
from perfledger_service.rendering.history.suspects import ab_request_rows, alert_rows
from perfledger_service.rendering.history.triage import (
    SETTABLE_STATES,
    triage_row,
    yearly_usd,
)
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.paging import page_of
from perfledger_service.values.branch_views import BranchView, TriagedEvent, TriagePart

# Events on a page, newest first; with the other rows they fill at most three screens of a phone.
EVENTS_PER_PAGE = 3
MAX_GATES = 3  # that are not collapsed
MAX_ACCEPTED = 5
MAX_ALERTS = 6
MAX_REQUESTS = 10
MAX_NOTES = 30


class EventOrder(StrEnum):
    """The order of events on the page of a project."""

    NEWEST = "newest"
    MOST_EXPENSIVE = "most-expensive"


def branch_page(
    view: BranchView,
    *,
    url: str,
    part: TriagePart = TriagePart.TO_DECIDE,
    order: EventOrder = EventOrder.NEWEST,
    page: int = 1,
    decided: int = 0,
    text: str = "",
    form_token: str = "",
) -> str:
    """Return the page of a project: one part of its events, A/B requests and gates.

    `url` is the service's address, where bundles are uploaded. `page` numbers the pages of events;
    the event of number `decided` is shown whatever its part. With `text`, only events of workloads
    whose names contain it are shown. With a token, the events have forms that set their states and
    queue jobs.
    """
    events = chosen_events(view, part, order, decided=decided, text=text)
    shown_events = page_of(events, page, size=EVENTS_PER_PAGE)
    return render(
        "html/branch.html.j2",
        view=view,
        part=part,
        order=order,
        parts=_parts(chosen_events(view, None, order, text=text)),
        text=text,
        orders=tuple(EventOrder),
        events=shown_events,
        rows=[triage_row(one, view.search.commits) for one in shown_events.items],
        has_prices=any(one.prices for one in view.events),
        notes=view.notes[:MAX_NOTES],
        moment=number_format.moment,
        states=SETTABLE_STATES,
        form_token=form_token,
        alerts=alert_rows(view.alerts[:MAX_ALERTS]),
        ab_requests=ab_request_rows(view.requests[:MAX_REQUESTS], url=url),
        doubtful_events=doubtful_events_sentence(view.search.grouped_changes),
        gates=gate_rows(view.gates, view.events),
        most_gates=MAX_GATES,
        accepted=view.acceptances[:MAX_ACCEPTED],
        label=vocabulary.metric_label,
        device=stored_verdict_rows.device,
    )


def chosen_events(
    view: BranchView,
    part: TriagePart | None,
    order: EventOrder,
    *,
    decided: int = 0,
    text: str = "",
) -> tuple[TriagedEvent, ...]:
    """Return the events of a part, of all parts with None, in order.

    The event of number `decided` is among them whatever its part. With `text`, only events of
    workloads whose names contain it are.
    """
    chosen = [
        one
        for one in view.events
        if _holds(one, text)
        and (part in {None, one.part} or (one.view is not None and one.view.event.id == decided))
    ]
    if order is EventOrder.MOST_EXPENSIVE:
        chosen.sort(key=yearly_usd, reverse=True)
    return tuple(chosen)


def _holds(event: TriagedEvent, text: str) -> bool:
    """Return whether the name of any of an event's workloads contains a text."""
    return not text or any(text.lower() in one.lower() for one in event.workloads)


def _parts(events: Sequence[TriagedEvent]) -> tuple[tuple[TriagePart, int], ...]:
    """Return each part with its number of events."""
    counts = Counter(one.part for one in events)
    return tuple((part, counts[part]) for part in TriagePart)
