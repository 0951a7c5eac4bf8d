"""Renders the page of a project's default branch, which begins with what happened."""

from dataclasses import replace

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.event_rows import doubtful_events_sentence
from perfledger_service.rendering.history.gate_health import gate_rows
from perfledger_service.rendering.history.suspects import ab_request_rows, alert_rows
from perfledger_service.rendering.history.triage import other_alerts, triage_rows
from perfledger_service.rendering.layout import provenance_facts, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.paging import page_of
from perfledger_service.values.branch_views import BranchView

# Events on one page, and further rows of each kind, newest first.
EVENTS_PER_PAGE = 6
MAX_ALERTS = 6
MAX_REQUESTS = 10


def branch_page(view: BranchView, *, url: str, page: int = 1) -> str:
    """Return the page of a project: events of its series, A/B requests and gates.

    `url` is the service's address, where bundles are uploaded; `page` is that of the events.
    """
    unmatched = replace(view, alerts=other_alerts(view)[:MAX_ALERTS])
    return render(
        "html/branch.html.j2",
        view=view,
        events=page_of(triage_rows(view), page, size=EVENTS_PER_PAGE),
        alerts=alert_rows(unmatched),
        ab_requests=ab_request_rows(view.requests[:MAX_REQUESTS], url=url),
        doubtful_events=doubtful_events_sentence(view.search.grouped_changes),
        gates=gate_rows(view.gates),
        short_sha=provenance_facts.short_sha,
        label=vocabulary.metric_label,
        device=stored_verdict_rows.device,
    )
