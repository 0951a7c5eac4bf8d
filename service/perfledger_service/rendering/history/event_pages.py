"""Renders the page of one event."""

from collections.abc import Sequence

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.triage import SETTABLE_STATES, triage_row
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.branch_views import EventHistory, TriagedEvent


def event_page(
    history: EventHistory, event: TriagedEvent, commits: Sequence[str], *, form_token: str
) -> str:
    """Return the page of an event; with a token it has the forms to decide on it.

    `commits` are those of the search that found the event.
    """
    return render(
        "html/event.html.j2",
        repository=history.repository,
        row=triage_row(event, commits),
        notes=history.notes,
        moment=number_format.moment,
        states=SETTABLE_STATES,
        form_token=form_token,
        label=vocabulary.metric_label,
        device=stored_verdict_rows.device,
    )
