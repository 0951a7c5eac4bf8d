"""Renders the page of a project's default branch."""

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.event_rows import doubtful_events_sentence, event_rows
from perfledger_service.rendering.history.gate_health import gate_rows
from perfledger_service.rendering.history.suspects import ab_request_rows, alert_rows
from perfledger_service.rendering.layout import provenance_facts, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.branch_views import BranchView

# Most events on one page; the newest come first.
MAX_EVENTS = 50


def branch_page(view: BranchView, *, url: str) -> str:
    """Return the page of a project: alerts, A/B requests and events of its series.

    `url` is the service's address, where bundles are uploaded.
    """
    names = [provenance_facts.short_sha(sha)[:10] for sha in view.commits]
    return render(
        "html/branch.html.j2",
        view=view,
        alerts=alert_rows(view),
        ab_requests=ab_request_rows(view.requests, url=url),
        events=event_rows(view.grouped_changes, names)[:MAX_EVENTS],
        doubtful_events=doubtful_events_sentence(view.grouped_changes),
        gates=gate_rows(view.gates),
        short_sha=provenance_facts.short_sha,
        label=vocabulary.metric_label,
        device=stored_verdict_rows.device,
    )
