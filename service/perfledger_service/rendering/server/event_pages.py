"""Renders the pages of what there is to decide of a project, and of one event."""

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.rendering.layout.document import Table
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.server.event import event_document, triage_document
from perfledger_service.values.branch_views import EventHistory, TriageReport

# A later change that undoes an event sets it to fixed; nobody does.
SETTABLE_STATES = tuple(state for state in EventState if state is not EventState.FIXED)
_PARTS = {
    "to_decide": "To decide",
    "acknowledged": "Acknowledged",
    "expiring": "Expected, and about to end",
    "expected": "Expected",
    "fixed": "Fixed in the last week",
    "environment": "Blamed on machines in the last week",
}


def triage_page(report: TriageReport) -> str:
    """Return the page of what there is to decide of a project, which links to its events."""
    tables = {table.key: table for table in triage_document(report).keyed_tables}
    return render(
        "html/triage.html.j2",
        report=report,
        parts=[(heading, _texts(tables[key])) for key, heading in _PARTS.items()],
        notes=tables["notes"],
    )


def event_page(history: EventHistory, *, form_token: str) -> str:
    """Return the page of an event, with the form that sets its state where there is a token."""
    events, notes = event_document(history).keyed_tables
    return render(
        "html/event.html.j2",
        history=history,
        event=_texts(events)[0],
        notes=notes,
        states=SETTABLE_STATES,
        form_token=form_token,
    )


def _texts(events: Table) -> list[dict[str, str]]:
    """Return the texts of each row by the keys, or else headings, of its columns."""
    keys = [column.key or column.heading or "" for column in events.columns]
    return [dict(zip(keys, row.texts, strict=True)) for row in events.rows[: events.most]]
