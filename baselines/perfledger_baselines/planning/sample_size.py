"""Computes how many pairs a test needs to detect a change as large as the margin."""

import math
from bisect import bisect_left
from dataclasses import dataclass

from perfledger_baselines.judging.decision import ROUNDING
from perfledger_baselines.judging.explanation import MOST_PAIRS
from perfledger_baselines.judging.judge import Judgement
from perfledger_baselines.significance.alpha_spending import nominal_levels
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import InterimLooks, fewest_pairs
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult
from perfledger_baselines.significance.power import smallest_detectable_change


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsNeeded:
    """How many pairs find a relative change of one result; None if MOST_PAIRS do not."""

    workload: str
    metric: str
    change: float
    pairs: int | None


def pairs_for_margin(judgement: Judgement) -> tuple[PairsNeeded, ...]:
    """Return for each result with a spread how many pairs find a change of the margin.

    That many pairs have a smallest detectable change, computed as a verdict's is, of the margin or
    less: the first planned look that does, or beyond the last one as many as do at its level. What
    is a count, is the same in every pair or has too few pairs has no spread. No number of pairs
    calls a change that is not above the floor: a margin within the floor has no row.
    """
    sizes: list[PairsNeeded] = []
    for test, decision in zip(judgement.tests, judgement.decisions, strict=True):
        rule = judgement.rule.of(test.workload)
        adjusted = decision.adjusted
        if adjusted is None or not adjusted.result.is_enough or adjusted.result.sd == 0:
            continue
        if math.log1p(rule.margin) - math.log1p(decision.floor) > ROUNDING:
            fewest = fewest_pairs(rule.looks, has_history=decision.prior is not None)
            pairs = _pairs(adjusted, rule, floor=decision.floor, fewest=fewest)
            sizes.append(
                PairsNeeded(
                    workload=test.workload, metric=test.metric.name, change=rule.margin, pairs=pairs
                )
            )
    return tuple(sizes)


def _pairs(
    adjusted: AdjustedResult, rule: DecisionRule, *, floor: float, fewest: int
) -> int | None:
    level = rule.alpha / adjusted.sharing

    def is_found(pairs: int, level: float) -> bool:
        return _detectable(adjusted.result, pairs, level=level, floor=floor) <= rule.margin

    last = fewest - 1
    if rule.looks:
        levels = nominal_levels(InterimLooks(rule.looks, rule.looks), level)
        for look, nominal in zip(rule.looks, levels, strict=True):
            if look >= fewest and is_found(look, nominal):
                return look
        last, level = max(last, rule.looks[-1]), levels[-1]
    beyond = range(last + 1, MOST_PAIRS + 1)
    place = bisect_left(beyond, True, key=lambda pairs: is_found(pairs, level))
    return beyond[place] if place < len(beyond) else None


def _detectable(result: TTestResult, pairs: int, *, level: float, floor: float) -> float:
    """Return the smallest change that this many pairs would find; each adds a degree of freedom."""
    return smallest_detectable_change(
        result.sd,
        pairs,
        alpha=result.share * level,
        floor=floor,
        degrees=max(1.0, result.degrees + pairs - result.pairs),
    )
