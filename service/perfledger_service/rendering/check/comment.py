"""Renders a report as the Markdown of a pull request's comment and of its check run.

Both always fit GitHub's limits: text that is too long is laid out again with less detail, step by
step, and says what was left out and where to find it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from perfledger_service.rendering.check.acceptance_rows import acceptance_rows
from perfledger_service.rendering.check.first_screen import first_screen
from perfledger_service.rendering.cost import price_rows, projection_rows, yearly_rows
from perfledger_service.rendering.layout import (
    count_rows,
    provenance_facts,
    verdict_rows,
    vocabulary,
)
from perfledger_service.rendering.layout.check_command import reproduction, unreached_command
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import link
from perfledger_service.rendering.layout.failure_rows import (
    failure_rows,
    fold_alike,
    without_unmeasured,
)
from perfledger_service.rendering.layout.host_sentences import busy_sentence
from perfledger_service.rendering.trace import cause_rows
from perfledger_service.values.report import Report

MARKER = "<!-- perfledger:comment:v1 -->"
# GitHub's limits, in characters. They are enforced in bytes of UTF-8, which are never fewer.
MAX_COMMENT = 65_536
MAX_SUMMARY = 65_535

_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentLimits:
    """The limits of a layout for each kind of detail."""

    logs: int = 8
    log_lines: int = 30
    log_characters: int = 3000
    results: int = 300
    unit_costs: int = 120
    sources: int = 40
    blocks: int = 12
    causes: int = 8
    prices: int = 40
    failures: int = 60
    names: int = 40
    counts: int = 24
    notes: int = 20
    top: int = 8  # rows of the summary table when unchanged results fill it up
    loud: int = 20  # rows of the summary table in total


# The order of cuts in a comment that is too long: logs, then the long tables, then all but the
# largest causes, and last the rows of the summary table. The verdict, its counts and the link stay.
LADDER = (
    CommentLimits(),
    CommentLimits(log_lines=10, log_characters=800),
    CommentLimits(logs=0, results=120, unit_costs=60),
    CommentLimits(logs=0, results=40, unit_costs=20, sources=12, blocks=6, causes=5, notes=10),
    CommentLimits(
        logs=0,
        results=0,
        unit_costs=0,
        sources=0,
        blocks=3,
        causes=3,
        prices=8,
        failures=12,
        names=10,
        counts=8,
        notes=3,
    ),
    CommentLimits(
        logs=0,
        results=0,
        unit_costs=0,
        sources=0,
        blocks=0,
        causes=0,
        prices=2,
        failures=4,
        names=3,
        counts=2,
        notes=0,
        top=5,
        loud=5,
    ),
)


class ListTruncation:
    """A truncator of lists that records what it left out."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def first(self, items: Sequence[_Row], limit: int, what: str) -> tuple[_Row, ...]:
        """Return the first `limit` items; `what` names them in the plural."""
        if len(items) > limit:
            self.left_out.append(f"{len(items) - limit} of {len(items)} {what}")
        return tuple(items[:limit])


def comment(report: Report, *, url: str = "", first: str = "") -> str:
    """Return the comment under a pull request, at most 65,536 characters of Markdown.

    Its first line is a marker that identifies it, followed by a first part. `url` is the service's
    page with all details; without it the comment has no link.
    """
    return _text_within(report, url=url, first=f"{MARKER}\n{first}", limit=MAX_COMMENT)


def check_summary(report: Report, *, url: str = "", first: str = "") -> str:
    """Return the summary of the check run after a first part, at most 65,535 characters."""
    return _text_within(report, url=url, first=first, limit=MAX_SUMMARY)


def _text_within(report: Report, *, url: str, first: str, limit: int) -> str:
    text = ""
    for limits in LADDER:
        text = first + report_markdown(report, limits=limits, url=url)
        if len(text.encode("utf-8")) <= limit:
            break
    return text  # every part of the last layout has a limit, so it fits


def report_markdown(
    report: Report,
    *,
    limits: CommentLimits,
    url: str,
    machine_class: str = "",
    class_counts: str = "",
    is_folded: bool = False,
) -> str:
    """Return a report as Markdown.

    `machine_class` names its section if there are several, and `class_counts` counts the outcomes
    of all. A collapsed section shows its headline and its counts.
    """
    cut = ListTruncation()
    every = verdict_rows.verdict_rows(report)
    listed = without_unmeasured(every)
    top, folded = verdict_rows.split_verdict_rows(listed, limit=limits.top)
    # The rows that the table has no room for, if the list of all results has them.
    below = max(0, len(top) - limits.loud) if len(listed) <= limits.results else 0
    failures = fold_alike(failure_rows(report))
    unit_costs = price_rows.unit_cost_rows(report)
    loud, quiet = price_rows.split_price_rows(report, every)
    unknown = price_rows.unknown_workloads(unit_costs)
    blocks = cause_rows.reason_blocks(report, max_causes=limits.causes)
    values = {
        "report": report,
        "screen": first_screen(report, every),
        "legend": verdict_rows.legend(top),
        "machine_class": machine_class,
        "class_counts": class_counts,
        "is_folded": is_folded,
        "url": link(url),
        "busy": busy_sentence(report.host_findings),
        "mark": vocabulary.conclusion_mark(report),
        "top": cut.first(top[: len(top) - below], limits.loud, "rows of the table"),
        "below": below,
        "folded": folded,
        "unsure": cut.first(
            verdict_rows.uncertain_rows(every), limits.loud, "reasons for undecided results"
        ),
        "new": cut.first(report.new_workloads, limits.names, "new workloads"),
        "skipped": cut.first(report.skipped, limits.names, "skipped workloads"),
        "failures": cut.first(failures, limits.failures, "reasons for failed measurements"),
        "logs": cut.first([f for f in failures if f.log_tail], limits.logs, "logs"),
        "blocks": cut.first(blocks, limits.blocks, "explanations"),
        "prices": cut.first(loud, limits.prices, "yearly prices"),
        "total": yearly_rows.yearly_total(report.total_price, len(report.change_prices)),
        "queues": cut.first(
            yearly_rows.queue_sentences(report.queues),
            limits.prices,
            "queues for paid devices",
        ),
        "policy_evaluations": cut.first(
            yearly_rows.policy_evaluation_rows(
                report.policy_evaluations, head=report.head.sha if report.pull_request else ""
            ),
            limits.prices,
            "cost policies",
        ),
        "acceptances": cut.first(
            acceptance_rows(report.acceptances), limits.prices, "accepted regressions"
        ),
        "quiet_prices": cut.first(quiet, limits.unit_costs, "yearly prices of unchanged workloads"),
        "unknown": cut.first(unknown, limits.names, "workloads without a price"),
        "declared": price_rows.declared_workloads(unit_costs)[: limits.names],
        "has_needed": any(row.needed for row in every),
        "results": cut.first(listed, limits.results, "results in full"),
        "throughputs": verdict_rows.throughput_rows(report)[: limits.results],
        "work": verdict_rows.work_rows(report)[: limits.results],
        "counts": cut.first(count_rows.changed_counts(report), limits.counts, "changed counts"),
        "counted": count_rows.count_groups(report)[: limits.notes],
        "unit_costs": cut.first(unit_costs, limits.unit_costs, "prices of a million units"),
        "projected": cut.first(
            projection_rows.projected_rows(report), limits.unit_costs, "projected prices"
        ),
        "sources": cut.first(price_rows.source_rows(report), limits.sources, "sources of prices"),
        "notes": cut.first(report.notes, limits.notes, "notes"),
        "machine": provenance_facts.machine_facts(report.machine),
        "revisions": provenance_facts.revision_facts(report),
        "decision": provenance_facts.decision_sentences(report),
        "margin": provenance_facts.common_margin(report),
        "steps": verdict_rows.step_count_sentence(report),
        "best_steps": cut.first(
            [one for one in report.steps if one.best is not None],
            limits.names,
            "optimal numbers of steps",
        ),
        "reproduction": reproduction(report),
        "unreached": unreached_command(report),
        "limits": limits,
        "untrusted": provenance_facts.untrusted_names(report),
    }
    return render("comment.md.j2", **values, cut=tuple(cut.left_out))
