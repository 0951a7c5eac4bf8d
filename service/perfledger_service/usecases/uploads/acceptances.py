"""Applies maintainers' acceptances to the report of a pull request.

Verdicts stay the same. An accepted regression no longer fails the check, which is then neutral and
says who accepted it; other regressions still count, unless the commit is ignored. A cost policy
applies in any case: only the people whom it names approve a cost.
"""

from collections.abc import Sequence
from dataclasses import replace

from perfledger.bundle import Bundle
from perfledger.metrics import WorseDirection
from perfledger.records import FailureReason, Side
from perfledger_baselines.judging.judge import is_trade
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_service.rendering.check.headline import headline
from perfledger_service.usecases.check.report_builder import conclude_verdicts
from perfledger_service.usecases.cost.change import CheckConclusion, conclude_check
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.report import Conclusion, ExitCode, Report


def acceptable_workloads(report: Report) -> tuple[str, ...]:
    """Return the workloads that can be accepted: those that regressed or that head removed."""
    removed = {
        failure.workload
        for failure in report.failures
        if failure.why is FailureReason.MISSING and failure.side is Side.HEAD
    }
    workloads = (
        verdict.workload
        for verdict in report.verdicts
        if (verdict.outcome is Outcome.REGRESSED and not is_trade(verdict, report.verdicts))
        or (verdict.outcome is Outcome.NOT_MEASURED and verdict.workload in removed)
    )
    return tuple(dict.fromkeys(workloads))


def is_within(verdicts: Sequence[Verdict], accepted_verdicts: Sequence[Verdict]) -> bool:
    """Return whether no regression is certainly larger than the accepted one of the same metric.

    An accepted regression extends to the end of its interval. It does not cover a metric that had
    not regressed, or a regression of unknown size.
    """
    accepted_sizes = {
        one.metric.name: one.estimate
        for one in accepted_verdicts
        if one.is_regression and one.estimate is not None
    }
    for verdict in verdicts:
        if not verdict.is_regression or is_trade(verdict, verdicts):
            continue
        estimate, accepted_size = verdict.estimate, accepted_sizes.get(verdict.metric.name)
        if estimate is None or accepted_size is None:
            return False
        is_higher_worse = verdict.metric.worse is WorseDirection.HIGHER
        if is_higher_worse and estimate.low > accepted_size.high:
            return False
        if not is_higher_worse and estimate.high < accepted_size.low:
            return False
    return True


def apply_acceptances(report: Report, bundle: Bundle, acceptances: Sequence[Acceptance]) -> Report:
    """Return a report after the acceptances that cover it, with those that change something."""
    acceptable = set(acceptable_workloads(report))
    used = tuple(one for one in acceptances if one.is_of_commit or one.workload in acceptable)
    if not used:
        return report
    title = conclude_verdicts(bundle, report.verdicts).title
    if any(one.is_of_commit for one in used):
        ending = CheckConclusion(Conclusion.NEUTRAL, ExitCode.OK, f"{title}, ignored")
    else:
        accepted = {one.workload for one in used} & acceptable
        decisive = tuple(
            replace(verdict, is_warning=verdict.is_warning or verdict.workload in accepted)
            for verdict in report.verdicts
        )
        ending = conclude_verdicts(bundle, decisive)
        if ending.conclusion in {Conclusion.SUCCESS, Conclusion.NEUTRAL}:
            ending = CheckConclusion(Conclusion.NEUTRAL, ExitCode.OK, f"{title}, accepted")
    ending = conclude_check(ending, report.policy_evaluations)
    words = headline(report)
    return replace(
        report,
        acceptances=used,
        conclusion=ending.conclusion,
        exit_code=ending.exit_code,
        title=ending.title,
        headline=words if ending.title == title else f"{ending.title}: {words}",
    )
