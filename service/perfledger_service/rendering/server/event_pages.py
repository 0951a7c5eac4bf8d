"""Renders the page of one event."""

from perfledger_service.rendering.history.triage import SETTABLE_STATES
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.server.event import event_document
from perfledger_service.values.branch_views import EventHistory


def event_page(history: EventHistory, *, form_token: str) -> str:
    """Return the page of an event, with the forms that decide on it where there is a token."""
    events, notes = event_document(history).keyed_tables
    keys = [column.key or column.heading or "" for column in events.columns]
    (row,) = events.rows
    return render(
        "html/event.html.j2",
        history=history,
        event=dict(zip(keys, row.texts, strict=True)),
        notes=notes,
        states=SETTABLE_STATES,
        form_token=form_token,
    )
