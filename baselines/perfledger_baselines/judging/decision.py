"""Decides the outcome of each test from its corrected result."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from perfledger.metrics import CPU_TIME, STEP_TIME, Metric, MetricKind, WorseDirection
from perfledger_baselines.estimation.foreign_load import UNKNOWN_SHARE
from perfledger_baselines.estimation.log_odds import typical_shares
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome
from perfledger_baselines.significance.bimodality import Bimodality, find_bimodality
from perfledger_baselines.significance.decision_rule import ROUNDING, DecisionRule
from perfledger_baselines.significance.foreign_waits import (
    LOADED_SHARE,
    Remains,
    remains_of_changes,
)
from perfledger_baselines.significance.interim_looks import InterimLooks, looks_until
from perfledger_baselines.significance.less_parallel import less_parallel_heads
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult
from perfledger_baselines.significance.power import detectable_change, relative
from perfledger_baselines.significance.spread_prior import Priors, SpreadPrior
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest

CHANGES = frozenset({Outcome.REGRESSED, Outcome.IMPROVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one test and the figures that it rests on.

    `floor` is the smallest relative change of this series that is called a change. `adjusted` is
    None for a test with a flaw, `estimate` for one with too few runs as well. `queued_share` is set
    where other load counts: where CPU time settled a step time it is the share of it that steps
    spent waiting for a core, else the share that they waited for other programs, UNKNOWN_SHARE if
    that is unknown. The estimate of a step time is then without these waits, and None if it is not
    known so.
    """

    outcome: Outcome
    floor: float
    adjusted: AdjustedResult | None = None
    estimate: EffectEstimate | None = None
    is_warning: bool = False  # a worsening that Benjamini-Hochberg calls and Holm does not
    is_less_parallel: bool = False  # beside load, which may hide that head is slower
    prior: SpreadPrior | None = None
    states: Bimodality | None = None
    queued_share: float | None = None


def decide_paired(
    tests: Sequence[PairedTest],
    adjusted: Sequence[AdjustedResult | None],
    *,
    rule: DecisionRule,
    priors: Priors,
) -> tuple[Decision, ...]:
    """Decide paired tests, in order; step times beside other load with the help of CPU time."""
    decisions = tuple(
        _decide_pairs(test, result, rule.of(test.workload), priors.get(test.key))
        for test, result in zip(tests, adjusted, strict=True)
    )
    remains = remains_of_changes(
        tests,
        adjusted,
        [each.is_warning or each.outcome in CHANGES for each in decisions],
        floors=[each.floor for each in decisions],
        rule=rule,
    )
    foreign_shares = {test.workload: test.foreign_share for test in tests if test.unqueued}
    cpu_times = {
        test.workload: decision
        for test, decision in zip(tests, decisions, strict=True)
        if test.metric.name == CPU_TIME.name
    }
    own_decisions = (
        _settle_by_cpu_time(test, decision, cpu_times.get(test.workload), rule.of(test.workload))
        if remains_of is Remains.ALL
        else _without_waits(
            test,
            decision,
            remains_of,
            share=foreign_shares.get(test.workload, UNKNOWN_SHARE),
            log_margin=rule.of(test.workload).log_margin,
        )
        for test, decision, remains_of in zip(tests, decisions, remains, strict=True)
    )
    less_parallel = less_parallel_heads(tests, adjusted, rule=rule)
    return tuple(
        _less_parallel(test, decision)
        if _is_open(test, decision.outcome, less_parallel)
        else decision
        for test, decision in zip(tests, own_decisions, strict=True)
    )


def paired_outcomes(
    tests: Sequence[PairedTest],
    adjusted: Sequence[AdjustedResult | None],
    *,
    rule: DecisionRule,
    priors: Priors,
) -> tuple[Outcome, ...]:
    """Return the outcomes of `decide_paired` without figures; CPU time settles no UNCHANGED."""
    outcomes: list[Outcome] = []
    floors: list[float] = []
    for test, result in zip(tests, adjusted, strict=True):
        own_rule = rule.of(test.workload)
        floors.append(own_rule.floor_of(_usable_prior(result, priors.get(test.key))))
        outcomes.append(_outcome(test.metric, result, own_rule, floor=floors[-1])[0])
    changes = [each in CHANGES for each in outcomes]
    remains = remains_of_changes(tests, adjusted, changes, floors=floors, rule=rule)
    less_parallel = less_parallel_heads(tests, adjusted, rule=rule)
    return tuple(
        Outcome.UNDECIDED
        if remains_of is Remains.UNKNOWN or _is_open(test, outcome, less_parallel)
        else outcome
        for test, outcome, remains_of in zip(tests, outcomes, remains, strict=True)
    )


def decide_unpaired(
    tests: Sequence[UnpairedTest], adjusted: Sequence[AdjustedResult | None], *, rule: DecisionRule
) -> tuple[Decision, ...]:
    """Decide tests of unpaired runs, in order; there is a single look at all runs."""
    return tuple(
        _decide(
            test.metric,
            result,
            (test.base, test.head),
            rule.of(test.workload),
            floor=rule.floor,
        )
        for test, result in zip(tests, adjusted, strict=True)
    )


def _decide_pairs(
    test: PairedTest, adjusted: AdjustedResult | None, rule: DecisionRule, prior: SpreadPrior | None
) -> Decision:
    prior = _usable_prior(adjusted, prior)
    if adjusted is None or not adjusted.result.is_enough:
        decision = _decide(test.metric, adjusted, ((), ()), rule, floor=rule.floor)
        return replace(decision, prior=prior)
    base, head = zip(*test.pairs, strict=True)
    decision = _decide(
        test.metric,
        adjusted,
        (base, head),
        rule,
        floor=rule.floor_of(prior),
        looks=looks_until(rule.looks, len(test.base)),
    )
    return replace(decision, prior=prior, states=find_bimodality(base, head))


def _usable_prior(adjusted: AdjustedResult | None, prior: SpreadPrior | None) -> SpreadPrior | None:
    """Return a test's prior; None if no spread is needed, as for a flawed test or for counts."""
    return None if adjusted is None or adjusted.result.is_exact else prior


def _without_waits(
    test: PairedTest, decision: Decision, remains: Remains, *, share: float, log_margin: float
) -> Decision:
    """Return a changed decision beside load, with figures that no wait for a core lengthens.

    If it is unknown which waits of several threads were for other programs, there are no figures:
    between bounds that are farther apart than the margin, the middle is a time of neither side.
    """
    estimate = decision.estimate
    if test.metric.name == STEP_TIME.name:
        estimate = _estimate_without_waits(test, decision)
    decision = replace(decision, estimate=estimate, queued_share=share)
    if remains is Remains.WITHOUT_WAITS:
        return decision
    waitless = decision.adjusted.result.unqueued if decision.adjusted else None
    if waitless is not None and waitless.high.mean > waitless.low.mean + log_margin:
        decision = replace(decision, estimate=None)
    return replace(decision, outcome=Outcome.UNDECIDED, is_warning=False)


def _is_open(test: PairedTest, outcome: Outcome, less_parallel: Collection[str]) -> bool:
    """Return whether other load may hide that a step time is longer."""
    is_step_time = test.metric.name == STEP_TIME.name
    is_passing = outcome in {Outcome.UNCHANGED, Outcome.IMPROVED}
    return is_step_time and is_passing and test.workload in less_parallel


def _less_parallel(test: PairedTest, decision: Decision) -> Decision:
    """Return a step time's decision that idle cores may contradict."""
    share = test.queued_share
    return replace(decision, outcome=Outcome.UNDECIDED, is_less_parallel=True, queued_share=share)


def _estimate_without_waits(test: PairedTest, decision: Decision) -> EffectEstimate | None:
    """Return a step time's figures without waits for other programs; None if they are unknown."""
    waitless = decision.adjusted.result.unqueued if decision.adjusted else None
    if waitless is None or decision.estimate is None or not waitless.low.is_enough:
        return None
    level_s = _geometric_mean(each.level_s for each in test.step_unqueued)
    low, high = map(relative, waitless.interval)
    narrow_low, narrow_high = map(relative, waitless.narrow_interval)
    return replace(
        decision.estimate,
        base=level_s * math.exp(-waitless.mean / 2),
        head=level_s * math.exp(waitless.mean / 2),
        change=relative(waitless.mean),
        low=low,
        high=high,
        narrow_low=narrow_low,
        narrow_high=narrow_high,
    )


def _settle_by_cpu_time(
    test: PairedTest, decision: Decision, cpu_time: Decision | None, rule: DecisionRule
) -> Decision:
    """Return UNCHANGED if only other load keeps a step time undecided; else the decision as it is.

    Wall time decides if it can; here it must be undecided, without any sign of a change. The steps
    must have waited for a core, CPU time must be proven unchanged by as many pairs, and so must the
    wall time without that wait. CPU time alone would call a sleep, a slower disk or less parallel
    work unchanged. Both proofs are required, so that a false one is no likelier than for either
    alone.
    """
    if not test.step_unqueued:
        return decision
    is_open = decision.outcome is Outcome.UNDECIDED and not decision.is_warning
    if decision.adjusted is None or decision.adjusted.is_clear:  # or a sign of a change
        return decision
    if not is_open or test.queued_share < LOADED_SHARE:
        return decision
    is_same_work = (
        cpu_time is not None
        and cpu_time.outcome is Outcome.UNCHANGED
        and cpu_time.estimate is not None
        and cpu_time.estimate.pairs == len(test.base)
    )
    waitless = decision.adjusted.result.unqueued
    estimate = _estimate_without_waits(test, decision)
    if not is_same_work or waitless is None or estimate is None:
        return decision
    margin = rule.log_margin + ROUNDING
    if not all(-margin <= end <= margin for end in waitless.narrow_interval):
        return decision
    return replace(
        decision, outcome=Outcome.UNCHANGED, estimate=estimate, queued_share=test.queued_share
    )


def _decide(
    metric: Metric,
    adjusted: AdjustedResult | None,
    sides: tuple[Sequence[float], Sequence[float]],
    rule: DecisionRule,
    *,
    floor: float,
    looks: InterimLooks | None = None,
) -> Decision:
    outcome, is_warning = _outcome(metric, adjusted, rule, floor=floor)
    if adjusted is None or not adjusted.result.is_enough:
        return Decision(outcome=outcome, floor=floor, adjusted=adjusted)
    smallest = detectable_change(
        adjusted.result,
        looks=looks or looks_until((), adjusted.result.pairs),
        alpha=rule.alpha / adjusted.sharing,
        floor=floor,
    )
    return Decision(
        outcome=outcome,
        floor=floor,
        adjusted=adjusted,
        estimate=_estimate(
            adjusted.result, _typical_values(metric, *sides), smallest_detectable=smallest
        ),
        is_warning=is_warning,
    )


def _outcome(
    metric: Metric, adjusted: AdjustedResult | None, rule: DecisionRule, *, floor: float
) -> tuple[Outcome, bool]:
    """Apply the rule: a change first, then equivalence, else undecided; also return any warning."""
    if adjusted is None:
        return Outcome.NOT_MEASURED, False
    result = adjusted.result
    if not result.is_enough:
        return Outcome.UNDECIDED, False
    is_big = abs(result.mean) >= math.log1p(floor) - ROUNDING
    is_change = adjusted.is_clear and is_big and adjusted.holm < rule.alpha
    is_listed = adjusted.is_clear and is_big and adjusted.benjamini_hochberg < rule.alpha
    is_same = abs(result.mean) + result.narrow_half_width <= rule.log_margin + ROUNDING
    direction = _direction(metric, result.mean)
    if is_change:
        return direction, False
    undirected = Outcome.UNCHANGED if is_same else Outcome.UNDECIDED
    return undirected, is_listed and direction is Outcome.REGRESSED


def _direction(metric: Metric, difference: float) -> Outcome:
    """Return what the sign of a difference of logs means for the metric."""
    match metric.worse:
        case WorseDirection.HIGHER:
            return Outcome.REGRESSED if difference > 0 else Outcome.IMPROVED
        case WorseDirection.LOWER:
            return Outcome.REGRESSED if difference < 0 else Outcome.IMPROVED
        case _ as unreachable:
            assert_never(unreachable)


def _estimate(
    result: TTestResult, sides: tuple[float, float], *, smallest_detectable: float
) -> EffectEstimate:
    """Return the result in relative figures, with both sides' typical values."""
    base, head = sides
    wide, narrow = result.half_width, result.narrow_half_width
    return EffectEstimate(
        base=base,
        head=head,
        change=relative(result.mean),
        low=relative(result.mean - wide),
        high=relative(result.mean + wide),
        narrow_low=relative(result.mean - narrow),
        narrow_high=relative(result.mean + narrow),
        pairs=result.pairs,
        p_value=result.p_value,
        smallest_detectable=smallest_detectable,
    )


def _typical_values(
    metric: Metric, base: Sequence[float], head: Sequence[float]
) -> tuple[float, float]:
    """Return one value for each side, whose ratio is the tested one."""
    if metric.kind is MetricKind.UTILIZATION:
        return typical_shares(np.array(base), np.array(head))
    return _geometric_mean(base), _geometric_mean(head)


def _geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs))
