"""Lays out accepted regressions, and the command that accepts one."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger.records import FailureReason, Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.check.headline import telling_rows
from perfledger_service.rendering.layout.verdict_rows import VerdictTableRow
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.report import Conclusion, Report

# A longer command could not be copied in full.
MAX_COMMAND = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceTableRow:
    """An acceptance in words; login, workload and reason are untrusted."""

    verb: str
    login: str
    workload: str  # "" for all results of the check
    terms: str
    reason: str


def acceptance_rows(acceptances: Sequence[Acceptance]) -> tuple[AcceptanceTableRow, ...]:
    """Return acceptances in words, in their order."""
    return tuple(
        AcceptanceTableRow(
            verb="Ignored" if one.is_of_commit else "Accepted",
            login=one.login,
            workload=one.workload,
            terms=acceptance_terms(one),
            reason=one.reason,
        )
        for one in acceptances
    )


def acceptance_terms(acceptance: Acceptance) -> str:
    """Return the period for which an acceptance holds, in words."""
    if acceptance.until is not None:
        return f"until {acceptance.until}"
    day = acceptance.accepted_at.date()
    return f"on {day}" if acceptance.is_of_commit else f"as measured by {day}"


def acceptance_command(report: Report, every: Sequence[VerdictTableRow]) -> str:
    """Return the comment that accepts the cause of a failed check, "" if no comment does.

    It accepts the worst regression, or a workload that head removes. `every` are the rows of all
    verdicts.
    """
    rows = telling_rows(report, every)
    is_failed = report.conclusion is Conclusion.FAILURE and report.takes_commands
    removed = {
        one.workload
        for one in report.failures
        if one.why is FailureReason.MISSING and one.side is Side.HEAD
    }
    is_accepted = rows and (rows[0].outcome is Outcome.REGRESSED or rows[0].workload in removed)
    if not is_failed or not is_accepted:
        return ""
    command = f"/perfledger accept {rows[0].workload} --reason \N{HORIZONTAL ELLIPSIS}"
    return command if len(command) <= MAX_COMMAND else ""
