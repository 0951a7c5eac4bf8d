"""Computes how many pairs a test needs to detect a change as large as the margin."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray, IntArray
from perfledger_baselines.judging.explanation import MAX_PAIRS
from perfledger_baselines.judging.judge import Judgement
from perfledger_baselines.significance.alpha_spending import nominal_levels
from perfledger_baselines.significance.decision_rule import ROUNDING, DecisionRule
from perfledger_baselines.significance.interim_looks import InterimLooks, fewest_pairs
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.power import smallest_detectable_changes


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsNeeded:
    """How many pairs find a relative change of one result; None if MAX_PAIRS do not suffice."""

    workload: str
    metric: str
    change: float
    pairs: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SpreadResult:
    """A result with a spread, and the change that its pairs should find."""

    workload: str
    metric: str
    adjusted: AdjustedResult
    margin: float
    floor: float
    fewest_pairs: int  # for a test


def pairs_for_margin(judgement: Judgement) -> tuple[PairsNeeded, ...]:
    """Return for each result with a spread how many pairs find a change of the margin.

    With that many pairs the smallest detectable change, computed as for a verdict, is at most the
    margin: the first planned look that reaches it, or, beyond the last look, as many pairs as reach
    it at the last look's level. A count, a result that is equal in every pair and one with too few
    pairs have no spread. No number of pairs calls a change that is not above the floor, so a margin
    within the floor gets no row.
    """
    results = tuple(_results(judgement))
    numbers = _pairs(results, judgement.rule).tolist() if results else ()
    return tuple(
        PairsNeeded(
            workload=one.workload, metric=one.metric, change=one.margin, pairs=number or None
        )
        for one, number in zip(results, numbers, strict=True)
    )


def _results(judgement: Judgement) -> Iterator[_SpreadResult]:
    for test, decision in zip(judgement.tests, judgement.decisions, strict=True):
        rule = judgement.rule.of(test.workload)
        adjusted = decision.adjusted
        if adjusted is None or not adjusted.result.is_enough or adjusted.result.sd == 0:
            continue
        if math.log1p(rule.margin) - math.log1p(decision.floor) > ROUNDING:
            yield _SpreadResult(
                workload=test.workload,
                metric=test.metric.name,
                adjusted=adjusted,
                margin=rule.margin,
                floor=decision.floor,
                fewest_pairs=fewest_pairs(rule.looks, has_history=decision.prior is not None),
            )


def _pairs(results: Sequence[_SpreadResult], rule: DecisionRule) -> IntArray:
    """Return the number of pairs for each result, (results,); 0 if MAX_PAIRS are too few."""
    tests = [one.adjusted.result for one in results]
    sd, share = (np.array(values) for values in zip(*((t.sd, t.share) for t in tests), strict=True))
    more_degrees = np.array([one.degrees - one.pairs for one in tests])  # each pair adds one
    floors, margins = np.array([(one.floor, one.margin) for one in results]).T

    def are_found(pairs: IntArray, levels: FloatArray) -> BoolArray:
        smallest = smallest_detectable_changes(
            sd,
            pairs,
            alpha=share * levels,
            floor=floors,
            degrees=np.maximum(1.0, more_degrees + pairs),
        )
        is_found: BoolArray = smallest <= margins
        return is_found

    levels = _levels(results, rule)
    fewest = np.array([one.fewest_pairs for one in results])
    start = np.maximum(fewest, rule.looks[-1] + 1) if rule.looks else fewest  # beyond all looks
    end = np.full(len(results), MAX_PAIRS + 1)
    while (is_open := start < end).any():
        middle = (start + end) // 2
        is_found = are_found(middle, levels[:, -1])
        end = np.where(is_open & is_found, middle, end)
        start = np.where(is_open & ~is_found, middle + 1, start)
    numbers = np.where(start <= MAX_PAIRS, start, 0)
    for index, look in reversed(tuple(enumerate(rule.looks))):
        at_look = np.full(len(results), look)
        numbers = np.where((look >= fewest) & are_found(at_look, levels[:, index]), look, numbers)
    return numbers


def _levels(results: Sequence[_SpreadResult], rule: DecisionRule) -> FloatArray:
    """Return the level of each look by its result's share of alpha, (results, looks).

    There is one if no looks are planned.
    """
    looks = InterimLooks(rule.looks, rule.looks)
    levels = {
        sharing: nominal_levels(looks, rule.alpha / sharing)
        if rule.looks
        else (rule.alpha / sharing,)
        for sharing in {one.adjusted.sharing for one in results}
    }
    return np.array([levels[one.adjusted.sharing] for one in results])
