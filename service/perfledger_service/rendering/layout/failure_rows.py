"""Lists the workloads of a report that were not measured, and why, for any kind of page.

Names and details are untrusted text, escaped by the templates.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perfledger.records import Failure, FailureReason, Side
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.rendering.layout.verdict_rows import VerdictTableRow
from perfledger_service.values.report import Report

# Workloads that were not measured, for one reason, with rows of their own. More have one.
MAX_ALIKE = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRow:
    """One workload that could not be measured, as shown; `why` follows its name."""

    workload: str
    why: str
    summary: str  # the same, with every side on which it failed like this, whatever the detail
    detail: str
    log_tail: str
    alike: int = 0  # other workloads that were not measured for the same reason, without rows


def failure_rows(report: Report) -> tuple[FailureRow, ...]:
    """Return each workload's failures, base's first; the same failure on both sides is one row."""
    failures = [failure for failure in report.failures if not _is_only_new(failure, report)]
    groups: dict[tuple[str, str, str], list[Failure]] = {}
    alike_by_phrase: defaultdict[tuple[str, str], list[Failure]] = defaultdict(list)
    for failure in sorted(failures, key=lambda each: tuple(Side).index(each.side)):
        phrase = vocabulary.failure_reason_phrase(failure.why)
        groups.setdefault((failure.workload, phrase, failure.detail), []).append(failure)
        alike_by_phrase[failure.workload, phrase].append(failure)
    workloads = tuple(dict.fromkeys(failure.workload for failure in failures))
    rows = [
        FailureRow(
            workload=workload,
            why=f"{phrase} on {_sides(alike)}",
            summary=f"{phrase} on {_sides(alike_by_phrase[workload, phrase])}",
            detail=detail,
            log_tail=alike[0].log_tail,
        )
        for (workload, phrase, detail), alike in groups.items()
    ]
    unjudged = (
        _unjudged_row(verdict)
        for verdict in report.verdicts_of(Outcome.NOT_MEASURED)
        if verdict.workload not in workloads
    )
    return (*sorted(rows, key=lambda row: workloads.index(row.workload)), *unjudged)


def fold_alike(rows: Sequence[FailureRow]) -> tuple[FailureRow, ...]:
    """Return the rows; of many for one reason the first alone, with the number of the others."""
    groups: dict[tuple[str, str, str], list[FailureRow]] = {}
    for each in rows:
        groups.setdefault((each.why, each.detail, each.log_tail), []).append(each)
    folded: list[FailureRow] = []
    for alike in groups.values():
        is_long = len(alike) > MAX_ALIKE
        folded += [replace(alike[0], alike=len(alike) - 1)] if is_long else alike
    return tuple(folded)


def without_unmeasured(rows: Sequence[VerdictTableRow]) -> tuple[VerdictTableRow, ...]:
    """Return the rows without the workloads of which nothing was measured, if those are many.

    Their reasons are listed instead.
    """
    measured = {row.workload for row in rows if row.outcome is not Outcome.NOT_MEASURED}
    if len({row.workload for row in rows} - measured) <= MAX_ALIKE:
        return tuple(rows)
    return tuple(row for row in rows if row.workload in measured)


def _sides(failures: Sequence[Failure]) -> str:
    return " and ".join(dict.fromkeys(failure.side for failure in failures))


def _is_only_new(failure: Failure, report: Report) -> bool:
    is_missing_on_base = failure.why is FailureReason.MISSING and failure.side is Side.BASE
    return is_missing_on_base and failure.workload in report.new_workloads


def _unjudged_row(verdict: Verdict) -> FailureRow:
    why = "could not be judged"
    detail = verdict.reason
    return FailureRow(workload=verdict.workload, why=why, summary=why, detail=detail, log_tail="")
