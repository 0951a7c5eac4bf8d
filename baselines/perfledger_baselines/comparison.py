"""Tests whose runs were not made in pairs in, one of the five words on each out.

The rule is that of pairs (`ruling`): a change first, then its absence, then the admission of
knowing neither; Holm decides over all tests. There is one look, at the runs that there are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger.metrics import Kind, Metric, Scale
from perfledger_baselines.evidence import Evidence
from perfledger_baselines.finding import (
    ROUNDING,
    Standing,
    counted,
    direction_of,
    estimate_of,
    standings,
    word_of,
)
from perfledger_baselines.looks import FEWEST_PAIRS
from perfledger_baselines.power import smallest_detectable_change
from perfledger_baselines.prior import SpreadPrior
from perfledger_baselines.rule import Rule
from perfledger_baselines.ruling import not_measured
from perfledger_baselines.shares import share_levels
from perfledger_baselines.unpaired import weigh_unpaired
from perfledger_baselines.verdict import Estimate, Outcome, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedTest:
    """One metric of one workload: a positive location for each run of either side.

    `flaw` says in words why this cannot be judged whatever the values are; "" if nothing is wrong.
    """

    workload: str
    metric: Metric
    base: tuple[float, ...]
    head: tuple[float, ...]
    flaw: str = ""
    prior: SpreadPrior | None = None

    @property
    def is_exact(self) -> bool:
        """Whether this is a deterministic count: declared so, and the same in every run."""
        is_same = len(set(self.base)) == len(set(self.head)) == 1
        return self.metric.scale is Scale.EXACT and is_same

    @property
    def is_noisy(self) -> bool:
        """Whether this is decided by a p-value, and so is one of the family."""
        return not self.flaw and not self.is_exact


def judge_unpaired(tests: Sequence[UnpairedTest], *, rule: Rule) -> tuple[Verdict, ...]:
    """Judge runs that were not made in pairs as one family, in the order of the tests.

    Flawed tests are NOT_MEASURED, and take no share of alpha: nothing is claimed of them. Raises
    ValueError for a side without a run or with a value that is not positive.
    """
    for test in tests:
        values = (*test.base, *test.head)
        if not test.flaw and not all(math.isfinite(value) and value > 0 for value in values):
            msg = f"{test.metric.name} of {test.workload} has a value that is not positive"
            raise ValueError(msg)
    weighed = {
        place: weigh_unpaired(*_levels(test), alpha=rule.alpha, prior=test.prior)
        for place, test in enumerate(tests)
        if test.is_noisy
    }
    found = standings(weighed, alpha=rule.alpha)
    return tuple(
        _judge_noisy(test, found[place], rule) if place in found else _judge_exact(test, rule)
        for place, test in enumerate(tests)
    )


def _levels(test: UnpairedTest) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    base, head = np.array(test.base, dtype=np.float64), np.array(test.head, dtype=np.float64)
    if test.metric.kind is Kind.UTILIZATION:
        return share_levels(base, head)
    return np.log(base), np.log(head)


def _judge_noisy(test: UnpairedTest, standing: Standing, rule: Rule) -> Verdict:
    evidence = standing.evidence
    runs = _runs(test)
    if not evidence.is_enough:
        reason = f"{runs}: each side needs {FEWEST_PAIRS}"
        return _verdict(test, Outcome.UNDECIDED, reason)
    word = word_of(test.metric, standing, rule, floor=rule.floor)
    reason = f"{runs} show no clear change and do not prove that there is none"
    if word.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}:
        reason = f"p = {standing.holm:.2g} (Holm), {runs}"
    elif word.outcome is Outcome.UNCHANGED:
        reason = f"proven within ±{100 * max(rule.margin, rule.floor):.3g} %, {runs}"
    elif standing.is_clear:
        reason = f"p = {evidence.p_value:.2g} alone, but {standing.holm:.2g} among all tests (Holm)"
    return _verdict(
        test,
        word.outcome,
        reason,
        estimate=_estimate(test, evidence, standing.sharing, rule),
        adjusted_p=standing.holm,
        is_warning=word.is_warning,
    )


def _judge_exact(test: UnpairedTest, rule: Rule) -> Verdict:
    """Judge what needs no p-value: flawed tests, and counts that every run agrees on."""
    if test.flaw:
        return not_measured(test.workload, test.metric, test.flaw)
    runs = min(len(test.base), len(test.head))
    evidence = counted(test.base[0], test.head[0], pairs=runs)
    is_changed = evidence.mean != 0 and abs(evidence.mean) >= rule.log_floor - ROUNDING
    return _verdict(
        test,
        direction_of(test.metric, evidence.mean) if is_changed else Outcome.UNCHANGED,
        f"a count, the same in all of {_runs(test)}",
        estimate=_estimate(test, evidence, 1, rule),
        adjusted_p=evidence.p_value,
    )


def _estimate(test: UnpairedTest, evidence: Evidence, sharing: int, rule: Rule) -> Estimate:
    detectable = smallest_detectable_change(
        evidence.sd,
        evidence.pairs,
        alpha=rule.alpha / sharing,
        floor=rule.floor,
        degrees=evidence.degrees,
    )
    return estimate_of(test.base, test.head, evidence, smallest_detectable=detectable)


def _runs(test: UnpairedTest) -> str:
    return f"{len(test.base)} and {len(test.head)} runs"


def _verdict(
    test: UnpairedTest,
    outcome: Outcome,
    reason: str,
    *,
    estimate: Estimate | None = None,
    adjusted_p: float = 1.0,
    is_warning: bool = False,
) -> Verdict:
    return Verdict(
        workload=test.workload,
        metric=test.metric,
        outcome=outcome,
        estimate=estimate,
        adjusted_p=adjusted_p,
        is_warning=is_warning,
        reason=reason,
    )
