"""Judges a bundle: one verdict on every metric of every workload that it should have measured.

One pass, each stage once: `pairing` estimates one value per process, `work_evidence` finds what is
doubtful about the work of heads, `paired_t_tests` tests the pairs' differences, `multiple_testing`
corrects for the family, `decision` decides, `wording` gives the reason.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME, MetricKind
from perfledger.records import Failure, FailureReason, Side
from perfledger_baselines.estimation.pairing import (
    Pair,
    PairedTest,
    RunPairs,
    estimate_bundle,
    match_runs,
)
from perfledger_baselines.judging.decision import (
    Decision,
    decide_paired,
    decide_unpaired,
    paired_outcomes,
)
from perfledger_baselines.judging.kernel_judgement import KernelJudgement
from perfledger_baselines.judging.kernel_verdicts import kernel_judgements, kernel_verdicts
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.judging.wording import paired_verdicts, unpaired_verdicts
from perfledger_baselines.judging.work_evidence import work_doubts
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.multiple_testing import adjust_family
from perfledger_baselines.significance.paired_t_tests import paired_results
from perfledger_baselines.significance.power import relative
from perfledger_baselines.significance.spread_prior import Priors, priors_of_plan
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest, unpaired_results

# Metrics that may get worse in exchange for speed.
TRADED_KINDS = frozenset({MetricKind.UTILIZATION, MetricKind.CPU_TIME})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdicts on a check, with the tests and decisions that they rest on.

    `runs` are all complete pairs, by workload. `verdicts` are by workload in the bundle's order,
    then by metric. `tests` are those whose pairs decide, and `decisions` one for each of them.
    `failures` are those that judging adds to the bundle's: workloads that may no longer do their
    work. `kernels` are the judgements of single kernels, if the check was asked for them.
    """

    rule: DecisionRule
    tests: tuple[PairedTest, ...]
    decisions: tuple[Decision, ...]
    verdicts: tuple[Verdict, ...]
    runs: RunPairs
    failures: tuple[Failure, ...] = ()
    kernels: tuple[KernelJudgement, ...] = ()


def judge_bundle(bundle: Bundle, *, priors: Priors | None = None) -> tuple[Verdict, ...]:
    """Return the verdicts of `judgement_of`."""
    return judgement_of(bundle, priors=priors).verdicts


def judgement_of(bundle: Bundle, *, priors: Priors | None = None) -> Judgement:
    """Judge all tests of a check together.

    `priors` are the spreads learnt from history, by default those that the check's stopping used. A
    test without a prior is judged by its own pairs alone.

    Fails closed: a workload that was to be measured has a verdict, if need be NOT_MEASURED. One
    that failed on either side has that verdict alone, whatever pairs it has. Skipped workloads and
    those new in head have none, unless they failed. An import has no verdict. Raises
    CheckPlanError.
    """
    rule = DecisionRule.from_plan(bundle.plan)
    if bundle.is_imported:
        runs = match_runs(bundle.runs)
        return Judgement(rule=rule, tests=(), decisions=(), verdicts=(), runs=runs)
    estimates = estimate_bundle(bundle, most=rule.most_pairs)
    doubts = work_doubts(bundle)
    all_failures = (*bundle.failures, *doubts.failures)
    failures = _failures(all_failures, new_workloads=bundle.new_workloads)
    deciding, untested = _family(bundle, estimates.tests, failures)
    spreads = priors_of_plan(bundle.plan) if priors is None else priors
    decisions = decide_tests(deciding, rule=rule, untested=untested, priors=spreads)
    unproven = doubts.unproven_gains(_gains(estimates.pairs, deciding, decisions))
    proven = [
        test for test in zip(deciding, decisions, strict=True) if test[0].workload not in unproven
    ]
    verdicts = paired_verdicts(proven, rule=rule, failures=failures | unproven)
    kernels = kernel_judgements(bundle, rule, proven, estimates.runs)
    return Judgement(
        rule=rule,
        tests=deciding,
        decisions=decisions,
        verdicts=_in_order((*verdicts, *kernel_verdicts(kernels)), estimates.tests),
        runs=estimates.runs,
        failures=(*doubts.failures, *unproven.values()),
        kernels=kernels,
    )


def judge_tests(
    tests: Sequence[PairedTest],
    *,
    rule: DecisionRule,
    untested: int = 0,
    priors: Priors = MappingProxyType({}),
) -> tuple[Verdict, ...]:
    """Judge tests as one family, in their order.

    `untested` counts the family's tests that have no p-value yet and take their share of alpha
    anyway. `priors` are the tests' spreads learnt from history.
    """
    decisions = decide_tests(tests, rule=rule, untested=untested, priors=priors)
    return paired_verdicts(zip(tests, decisions, strict=True), rule=rule)


def decide_tests(
    tests: Sequence[PairedTest],
    *,
    rule: DecisionRule,
    untested: int = 0,
    priors: Priors = MappingProxyType({}),
) -> tuple[Decision, ...]:
    """Decide tests as one family, in their order; see `judge_tests`."""
    results = paired_results(tests, rule=rule, priors=priors)
    adjusted = adjust_family(results, alpha=rule.alpha, untested=untested)
    return decide_paired(tests, adjusted, rule=rule, priors=priors)


def outcomes_of_tests(
    tests: Sequence[PairedTest], *, rule: DecisionRule, priors: Priors
) -> tuple[Outcome, ...]:
    """Return the outcomes of `decide_tests` without figures; CPU time settles none."""
    adjusted = adjust_family(paired_results(tests, rule=rule, priors=priors), alpha=rule.alpha)
    return paired_outcomes(tests, adjusted, rule=rule, priors=priors)


def judge_unpaired(tests: Sequence[UnpairedTest], *, rule: DecisionRule) -> tuple[Verdict, ...]:
    """Judge unpaired runs as one family, in the order of the tests.

    Flawed tests are NOT_MEASURED, and take no share of alpha: nothing is claimed of them. Raises
    ValueError for a side without a run or with a value that is not positive.
    """
    results = unpaired_results(tests, alpha=rule.alpha)
    adjusted = adjust_family(results, alpha=rule.alpha)
    decisions = decide_unpaired(tests, adjusted, rule=rule)
    return unpaired_verdicts(tests, decisions, rule=rule)


def is_trade(verdict: Verdict, verdicts: Iterable[Verdict]) -> bool:
    """Return whether a utilization fell, or CPU time rose, as the workload became faster.

    Work done in less time often leaves the device idle for a larger share of it, and work divided
    among cores costs more CPU time in total. It stays a regression of that metric, and is shown,
    but does not fail a check.
    """
    if verdict.metric.kind not in TRADED_KINDS or not verdict.is_regression:
        return False
    return any(
        other.workload == verdict.workload
        and other.metric.kind is MetricKind.SPEED
        and other.outcome is Outcome.IMPROVED
        for other in verdicts
    )


def _family(
    bundle: Bundle, tests: Mapping[str, tuple[PairedTest, ...]], failures: Mapping[str, Failure]
) -> tuple[tuple[PairedTest, ...], int]:
    """Return the tests whose pairs decide, and the number of noisy tests of failed workloads.

    A workload that failed, was skipped or is new has no test that decides.
    """
    excluded = {*bundle.skipped, *bundle.new_workloads, *failures}
    deciding = tuple(test for name in tests if name not in excluded for test in tests[name])
    return deciding, sum(test.is_noisy for name in failures for test in tests[name])


def _gains(
    pairs: Mapping[str, Sequence[Pair]],
    tests: Sequence[PairedTest],
    decisions: Sequence[Decision],
) -> dict[str, float]:
    """Return the share of step time that each workload's head saves, judged or estimated.

    A workload that became slower saves nothing, and has its own verdict. So has one that is less
    parallel: what it saves beside load is no gain.
    """
    timed = {
        test.workload: decision
        for test, decision in zip(tests, decisions, strict=True)
        if test.metric.name == STEP_TIME.name
    }
    slower = {
        name
        for name, each in timed.items()
        if each.outcome is Outcome.REGRESSED or each.is_less_parallel
    }
    judged = {name: gain for name, each in timed.items() if (gain := _gain(each)) is not None}
    unjudged = {test.workload for test in tests} - judged.keys()
    gains = judged | {name: _unjudged_gain(pairs[name]) for name in pairs if name in unjudged}
    return {name: gain for name, gain in gains.items() if name not in slower}


def _gain(decision: Decision) -> float | None:
    """Return the share of step time that head saves, as far as it is no wait; None if unknown."""
    if decision.estimate is not None:
        return -decision.estimate.change
    waitless = decision.adjusted.result.unqueued if decision.adjusted is not None else None
    return None if waitless is None else -relative(waitless.mean)


def _unjudged_gain(pairs: Sequence[Pair]) -> float:
    """Return the same for a workload whose step time is not judged, or has too few pairs yet.

    A step that does nothing needs less memory and CPU time, too.
    """
    ratios = [
        pair.head[STEP_TIME.name] / pair.base[STEP_TIME.name]
        for pair in pairs
        if all(side.get(STEP_TIME.name, 0.0) > 0 for side in (pair.base, pair.head))
    ]
    return 1 - median(ratios) if ratios else 0.0


def _in_order(verdicts: Sequence[Verdict], workloads: Iterable[str]) -> tuple[Verdict, ...]:
    place = {name: index for index, name in enumerate(workloads)}
    return tuple(sorted(verdicts, key=lambda each: place[each.workload]))


def _failures(failures: Iterable[Failure], *, new_workloads: Collection[str]) -> dict[str, Failure]:
    """Return each failed workload's first failure; one missing only on base is new."""
    first: dict[str, Failure] = {}
    for failure in failures:
        is_missing_on_base = failure.why is FailureReason.MISSING and failure.side is Side.BASE
        if not (is_missing_on_base and failure.workload in new_workloads):
            first.setdefault(failure.workload, failure)
    return first
