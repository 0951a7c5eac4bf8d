"""Tests whose runs were not made in pairs in, one of the five words on each out.

The rule is that of pairs (`ruling`): a change first, then its absence, then the admission of
knowing neither; Holm decides over all tests. There is one look, at the runs that there are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.metrics import Metric, Scale, Worse
from perfledger_baselines.evidence import Evidence
from perfledger_baselines.family import benjamini_hochberg, holm
from perfledger_baselines.looks import FEWEST_PAIRS
from perfledger_baselines.power import relative, smallest_detectable_change
from perfledger_baselines.prior import SpreadPrior
from perfledger_baselines.rule import Rule
from perfledger_baselines.ruling import ROUNDING, not_measured
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    evidence: Evidence
    holm: float
    benjamini_hochberg: float
    sharing: int  # how many tests share alpha with it, itself included


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
    standings = _standings(tests, rule)
    return tuple(
        _judge_noisy(test, standings[place], rule)
        if place in standings
        else _judge_exact(test, rule)
        for place, test in enumerate(tests)
    )


def _standings(tests: Sequence[UnpairedTest], rule: Rule) -> dict[int, _Standing]:
    weighed = {
        place: weigh_unpaired(
            np.log(test.base), np.log(test.head), alpha=rule.alpha, prior=test.prior
        )
        for place, test in enumerate(tests)
        if test.is_noisy
    }
    p_values = np.array([evidence.p_value for evidence in weighed.values()])
    strict, mild = holm(p_values), benjamini_hochberg(p_values)
    rejected = int(np.count_nonzero(strict < rule.alpha))
    return {
        place: _Standing(
            evidence=evidence,
            holm=float(strict[number]),
            benjamini_hochberg=float(mild[number]),
            sharing=len(p_values) - rejected + bool(strict[number] < rule.alpha),
        )
        for number, (place, evidence) in enumerate(weighed.items())
    }


def _judge_noisy(test: UnpairedTest, standing: _Standing, rule: Rule) -> Verdict:
    evidence = standing.evidence
    runs = _runs(test)
    if not evidence.is_enough:
        reason = f"{runs}: each side needs {FEWEST_PAIRS}"
        return _verdict(test, Outcome.UNDECIDED, reason)
    mean = evidence.mean
    is_clear = abs(mean) > evidence.half_width
    is_big = abs(mean) >= rule.log_floor - ROUNDING
    outcome, is_warning = Outcome.UNDECIDED, False
    reason = f"{runs} show no clear change and do not prove that there is none"
    if is_clear and is_big and standing.holm < rule.alpha:
        outcome = _direction(test.metric, mean)
        reason = f"p = {standing.holm:.2g} (Holm), {runs}"
    elif abs(mean) + evidence.narrow_half_width <= rule.log_margin + ROUNDING:
        outcome = Outcome.UNCHANGED
        reason = f"proven within ±{100 * max(rule.margin, rule.floor):.3g} %, {runs}"
    elif is_clear and is_big:
        is_worse = _direction(test.metric, mean) is Outcome.REGRESSED
        is_warning = is_worse and standing.benjamini_hochberg < rule.alpha
        reason = f"p = {evidence.p_value:.2g} alone, but {standing.holm:.2g} among all tests (Holm)"
    return _verdict(
        test,
        outcome,
        reason,
        estimate=_estimate(test, evidence, standing.sharing, rule),
        adjusted_p=standing.holm,
        is_warning=is_warning,
    )


def _judge_exact(test: UnpairedTest, rule: Rule) -> Verdict:
    """Judge what needs no p-value: flawed tests, and counts that every run agrees on."""
    if test.flaw:
        return not_measured(test.workload, test.metric, test.flaw)
    difference = math.log(test.head[0]) - math.log(test.base[0])
    is_changed = test.base[0] != test.head[0] and abs(difference) >= rule.log_floor - ROUNDING
    evidence = Evidence(
        pairs=min(len(test.base), len(test.head)),
        mean=difference,
        sd=0.0,
        degrees=1.0,
        share=1.0,
        half_width=0.0,
        narrow_half_width=0.0,
        p_value=float(test.base[0] == test.head[0]),
    )
    return _verdict(
        test,
        _direction(test.metric, difference) if is_changed else Outcome.UNCHANGED,
        f"a count, the same in all of {_runs(test)}",
        estimate=_estimate(test, evidence, 1, rule),
        adjusted_p=evidence.p_value,
    )


def _estimate(test: UnpairedTest, evidence: Evidence, sharing: int, rule: Rule) -> Estimate:
    wide, narrow, mean = evidence.half_width, evidence.narrow_half_width, evidence.mean
    return Estimate(
        base=math.exp(float(np.mean(np.log(test.base)))),
        head=math.exp(float(np.mean(np.log(test.head)))),
        change=relative(mean),
        low=relative(mean - wide),
        high=relative(mean + wide),
        narrow_low=relative(mean - narrow),
        narrow_high=relative(mean + narrow),
        pairs=evidence.pairs,
        p_value=evidence.p_value,
        smallest_detectable=smallest_detectable_change(
            evidence.sd,
            evidence.pairs,
            alpha=rule.alpha / sharing,
            floor=rule.floor,
            degrees=evidence.degrees,
        ),
    )


def _direction(metric: Metric, difference: float) -> Outcome:
    is_worse = (difference > 0) is (metric.worse is Worse.HIGHER)
    return Outcome.REGRESSED if is_worse else Outcome.IMPROVED


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
