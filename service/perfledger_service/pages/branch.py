"""Turns a project's default branch into its page."""

from perfledger_baselines.alarms import AlarmRate
from perfledger_service.pages import facts, figures, stored, words
from perfledger_service.pages.asked import alert_rows, asked_rows
from perfledger_service.pages.environment import render
from perfledger_service.pages.happened import doubted, happened_rows
from perfledger_service.views import BranchView

# Things that happened, on one page; the newest come first.
MAX_HAPPENED = 50


def branch_page(view: BranchView, *, url: str) -> str:
    """Return the page of a project: what is confirmed, asked for and put together of its series.

    `url` is the service's own address, where bundles are handed in.
    """
    names = [facts.short_sha(sha)[:10] for sha in view.commits]
    return render(
        "html/branch.html.j2",
        view=view,
        alerts=alert_rows(view),
        asked=asked_rows(view.asked, url=url),
        happened=happened_rows(view.happenings, names)[:MAX_HAPPENED],
        doubted=doubted(view.happenings),
        gate=gate_sentence(view.gate),
        label=words.metric_label,
        device=stored.device,
    )


def gate_sentence(gate: AlarmRate | None) -> str:
    """Return how often the gate was red on unchanged code, with its bound."""
    if gate is None:
        return (
            "How often the gate is red without cause is not known: no check compared a commit with "
            "itself yet. Each that does counts: perfledger check --base HEAD --head HEAD --upload"
        )
    checks = "1 check" if gate.checks == 1 else f"{gate.checks:,} checks"
    bound = f"at most {figures.share(gate.high)}"
    if gate.false:
        bound = f"{figures.share(gate.low)} to {figures.share(gate.high)}"
    return (
        f"The gate was red in {gate.false:,} of {checks} of unchanged code: its rate of false "
        f"alarms is {bound} with 95 % confidence"
    )
