"""Presents events, the history of one, and those to decide."""

import math
from collections.abc import Sequence
from itertools import chain

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import ChangedSeries
from perfledger_service.rendering.history.triage import terms, where
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Block,
    CellKind,
    Column,
    Document,
    Preformatted,
    display,
    fact,
    figure,
    heading,
    name,
    notes,
    table,
    title,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.branch_views import (
    EventHistory,
    EventList,
    EventNote,
    EventView,
    TriageReport,
)

_MAX_WORDS = 400
# Events of each part of a triage report that people see; programs get all.
MAX_SHOWN = 30
MEASURED = "(measured)"


def largest(view: EventView) -> ChangedSeries | None:
    """Return the series of an event that changed most, None if no size is known.

    A kernel family counts only without any other: its change is relative to a part of the step.
    """
    sized_series = [one for one in view.event.decisive_series if math.isfinite(one.change)]
    return max(sized_series, key=lambda one: abs(one.change), default=None)


def _size(view: EventView) -> str:
    """Return the largest change of an event as text."""
    series = largest(view)
    if series is None:
        return "unknown"
    size, _ = number_format.change(series.change, series.low, series.high)
    return size


def _workloads(view: EventView) -> str:
    """Return the workload that changed most, and the number of others."""
    names = tuple(dict.fromkeys(one.workload for one in view.event.series))
    series = largest(view)
    first = series.workload if series else (names or ("unknown",))[0]
    more = len(names) - 1
    return f"{first} and {more} more" if more > 0 else first


def _record(view: EventView) -> list[dict[str, object]]:
    return [
        {
            "workload": one.workload,
            "metric": one.metric,
            "machine_class": one.machine_class,
            **{
                key: value if math.isfinite(value) else None
                for key, value in (("change", one.change), ("low", one.low), ("high", one.high))
            },
        }
        for one in view.event.series
    ]


_EVENT_COLUMNS: tuple[Column[EventView], ...] = (
    figure("id", "event", lambda view: view.event.id, str),
    display("change", _size),
    name("workload", "workload", _workloads, limit=MAX_LONG_NAME),
    name("where", "where", where),
    figure("state", "state", lambda view: view.event.state.value),
    figure("opened_on", "since", lambda view: view.opened_at.date().isoformat()),
    display("why", terms, kind=CellKind.NAME, limit=_MAX_WORDS),
    fact("harm", lambda view: view.event.harm.value),
    fact("pull_request", lambda view: view.event.pull_request),
    fact("reason", lambda view: view.event.reason),
    fact("owner", lambda view: view.event.owner),
    fact("set_by", lambda view: view.event.set_by),
    fact("until", lambda view: view.event.until),
    fact("fixed_sha", lambda view: view.event.fixed_sha),
    fact("merged_sha", lambda view: view.event.merged_sha),
    fact("is_detected", lambda view: view.event.is_detected),
    fact("changed_at", lambda view: view.changed_at.isoformat()),
    fact("series", _record, in_csv=False),
)
_NOTE_COLUMNS: tuple[Column[EventNote], ...] = (
    figure("event", "event", lambda note: note.event_id, str),
    display("when", lambda note: f"{note.noted_at:%Y-%m-%d %H:%M}"),
    figure("state", "state", lambda note: note.state.value),
    name("author", "by", lambda note: note.author, show=lambda note: note.author or MEASURED),
    name("note", "what happened", lambda note: note.note, limit=_MAX_WORDS),
    fact("noted_at", lambda note: note.noted_at.isoformat()),
)


def events_document(events: EventList) -> Document:
    """Return the events of a project, newest first."""
    more = notes(("Older events are left out.",)) if events.has_more else ()
    return Document(
        name="perfledger-events",
        facts={"repository": events.repository, "has_more": events.has_more},
        blocks=(*_events_or_none(events.events, key="events", nothing="No events."), *more),
    )


def event_document(history: EventHistory) -> Document:
    """Return an event and what happened to it, oldest first."""
    return Document(
        name="perfledger-event",
        facts={"repository": history.repository},
        blocks=(
            table(_EVENT_COLUMNS, (history.view,), key="events"),
            table(_NOTE_COLUMNS, history.notes, key="notes"),
        ),
    )


def triage_document(report: TriageReport, *, most: int = MAX_SHOWN) -> Document:
    """Return a project's events to decide, and what happened to its events.

    People see `most` events of each part.
    """
    days = quantity(report.period.days, "day")
    state_counts = [
        f"{count} {word}"
        for state, word in ((EventState.OPEN, "opened"), (EventState.FIXED, "fixed"))
        if (count := report.count_notes(state))
    ]
    recent = ", ".join(state_counts) or "nothing opened or fixed"
    decide = quantity(len(report.to_decide), "regression")
    parts = (
        ("Acknowledged", report.acknowledged, "acknowledged"),
        ("Expected, and about to end", report.expiring, "expiring"),
        ("Expected", report.expected, "expected"),
        (f"Fixed in the last {days}", report.fixed, "fixed"),
        (f"Blamed on machines in the last {days}", report.environment, "environment"),
    )
    blocks = chain.from_iterable(
        _part(text, events, key=key, most=most) for text, events, key in parts
    )
    return Document(
        name="perfledger-triage",
        facts={
            "repository": report.repository,
            "since": report.since.isoformat(),
            "until": report.now.isoformat(),
        },
        blocks=(
            title(f"{decide} to decide in the last {days}: {recent}"),
            heading("To decide"),
            *_events_or_none(report.to_decide, key="to_decide", nothing="Nothing.", most=most),
            *blocks,
            *(() if not report.notes else (heading("What happened"),)),
            table(_NOTE_COLUMNS, report.notes, key="notes", most=most),
        ),
    )


def _part(text: str, events: Sequence[EventView], *, key: str, most: int) -> tuple[Block, ...]:
    beginning = (heading(text),) if events else ()
    return (*beginning, table(_EVENT_COLUMNS, events, key=key, most=most))


def _events_or_none(
    events: Sequence[EventView], *, key: str, nothing: str, most: int = MAX_SHOWN
) -> tuple[Block, ...]:
    beginning = () if events else (Preformatted(nothing),)
    return (*beginning, table(_EVENT_COLUMNS, events, key=key, most=most))
