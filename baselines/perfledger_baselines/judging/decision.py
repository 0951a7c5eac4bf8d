"""Decides the outcome of each test from its corrected result."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from perfledger.metrics import CPU_TIME, STEP_TIME, Metric, MetricKind, WorseDirection
from perfledger_baselines.estimation.foreign_load import mean_queued_share
from perfledger_baselines.estimation.log_odds import typical_shares
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome
from perfledger_baselines.significance.bimodality import Bimodality, find_bimodality
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import InterimLooks, looks_until
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult
from perfledger_baselines.significance.power import detectable_change, relative
from perfledger_baselines.significance.spread_prior import Priors, SpreadPrior
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest

# On the log scale. Logs, means and differences are rounded during computation; whether a change of
# exactly the floor or the margin counts must not depend on that.
ROUNDING = 1e-12
# Share of the steps' wall time spent in run queues. Below it other load is not what makes wall time
# noisy or different.
LOADED_SHARE = 0.02
CHANGES = frozenset({Outcome.REGRESSED, Outcome.IMPROVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one test and the figures that it rests on.

    `floor` is the smallest relative change of this series that is called a change. `adjusted` is
    None for a test with a flaw, `estimate` for one with too few runs as well. `queued_share` is set
    if CPU time settled a step time, or left it undecided: the share of it that steps spent waiting
    for a core.
    """

    outcome: Outcome
    floor: float
    adjusted: AdjustedResult | None = None
    estimate: EffectEstimate | None = None
    is_warning: bool = False  # a worsening that Benjamini-Hochberg calls and Holm does not
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
    cpu_times = {
        test.workload: decision
        for test, decision in zip(tests, decisions, strict=True)
        if test.metric.name == CPU_TIME.name
    }
    return tuple(
        _decide_under_load(test, decision, cpu_times.get(test.workload), rule.of(test.workload))
        for test, decision in zip(tests, decisions, strict=True)
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
    for test, result in zip(tests, adjusted, strict=True):
        own_rule = rule.of(test.workload)
        floor = own_rule.floor_of(_usable_prior(result, priors.get(test.key)))
        outcomes.append(_outcome(test.metric, result, own_rule, floor=floor)[0])
    cpu_times = {
        test.workload: outcome
        for test, outcome in zip(tests, outcomes, strict=True)
        if test.metric.name == CPU_TIME.name
    }
    return tuple(
        Outcome.UNDECIDED
        if _may_be_load(test, outcome, result, cpu_times.get(test.workload))
        else outcome
        for test, result, outcome in zip(tests, adjusted, outcomes, strict=True)
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


def _decide_under_load(
    test: PairedTest, decision: Decision, cpu_time: Decision | None, rule: DecisionRule
) -> Decision:
    """Return the decision on a test; of a wall time, after what other load may have done to it."""
    change = Outcome.REGRESSED if decision.is_warning else decision.outcome
    cpu_outcome = None if cpu_time is None else cpu_time.outcome
    if not _may_be_load(test, change, decision.adjusted, cpu_outcome):
        return _settle_by_cpu_time(test, decision, cpu_time, rule)
    return replace(
        decision,
        outcome=Outcome.UNDECIDED,
        is_warning=False,
        queued_share=test.foreign_share,
    )


def _may_be_load(
    test: PairedTest,
    outcome: Outcome,
    adjusted: AdjustedResult | None,
    cpu_time: Outcome | None,
) -> bool:
    """Return whether other load alone may have changed a step time or its tail.

    Beside other programs one side may wait longer for a core than the other one throughout a check.
    A change then needs support: by the CPU time, or by the wall time without that wait. Less wall
    time for more CPU time is supported if the latter may be less, too: the waits may be for the
    step's own threads.
    """
    if adjusted is None or outcome not in CHANGES or test.foreign_share < LOADED_SHARE:
        return False
    if cpu_time is outcome:
        return False
    low, high = adjusted.result.unqueued or (0.0, 0.0)
    if outcome is Outcome.REGRESSED:
        return low <= 0
    return (low if cpu_time is Outcome.REGRESSED else high) >= 0


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
    if test.metric.name != STEP_TIME.name or not test.unqueued:
        return decision
    share = mean_queued_share(test.unqueued)
    is_open = decision.outcome is Outcome.UNDECIDED and not decision.is_warning
    if decision.adjusted is None or decision.adjusted.is_clear:  # or a sign of a change
        return decision
    if not is_open or share < LOADED_SHARE:
        return decision
    is_same_work = (
        cpu_time is not None
        and cpu_time.outcome is Outcome.UNCHANGED
        and cpu_time.estimate is not None
        and cpu_time.estimate.pairs == len(test.base)
    )
    interval = decision.adjusted.result.unqueued
    if not is_same_work or interval is None or decision.estimate is None:
        return decision
    margin = rule.log_margin + ROUNDING
    if not all(-margin <= end <= margin for end in interval):
        return decision
    low, high = map(relative, interval)
    estimate = replace(decision.estimate, narrow_low=low, narrow_high=high)
    return replace(decision, outcome=Outcome.UNCHANGED, estimate=estimate, queued_share=share)


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
