"""Paired tests of one family in, one of the five words on each and what it rests on out."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import assert_never

import numpy as np

from perfledger.metrics import Metric, Worse
from perfledger_baselines.evidence import Evidence, weigh
from perfledger_baselines.family import benjamini_hochberg, holm
from perfledger_baselines.looks import FEWEST_PAIRS, looks_taken
from perfledger_baselines.pairing import PairedTest
from perfledger_baselines.power import relative, smallest_detectable_change
from perfledger_baselines.prior import SpreadPrior
from perfledger_baselines.rule import Rule
from perfledger_baselines.spending import nominal_levels
from perfledger_baselines.two_states import TwoStates, find_two_states
from perfledger_baselines.verdict import Estimate, Outcome, Verdict

# On the log scale. Logs, means and differences are rounded on their way; whether a change of just
# the floor or the margin counts must not depend on that.
ROUNDING = 1e-12

# Workload and metric's name → what is known of the spread of its pairs.
Priors = Mapping[tuple[str, str], SpreadPrior]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """A noisy test's evidence and its place in the family."""

    evidence: Evidence
    holm: float
    benjamini_hochberg: float
    sharing: int  # how many tests share alpha with it, itself included


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """What a verdict says beside its numbers."""

    outcome: Outcome
    reason: str
    is_warning: bool = False


def judge_tests(
    tests: Sequence[PairedTest],
    *,
    rule: Rule,
    others: int = 0,
    priors: Priors = MappingProxyType({}),
) -> tuple[Verdict, ...]:
    """Judge tests as one family, in their order.

    `others` counts the family's tests that have no p-value here and take their share of alpha all
    the same. Exact tests take none: equal counts are never found different by chance. `priors` is
    what history knows of the tests' spreads.
    """
    standings = _standings(tests, rule, others, priors)
    return tuple(
        _judge_noisy(test, standings[index], rule)
        if index in standings
        else _judge_exact(test, rule)
        for index, test in enumerate(tests)
    )


def not_measured(workload: str, metric: Metric, reason: str) -> Verdict:
    """Return the verdict on what should have been measured and was not."""
    return _verdict(workload, metric, _Finding(outcome=Outcome.NOT_MEASURED, reason=reason))


def _standings(
    tests: Sequence[PairedTest], rule: Rule, others: int, priors: Priors
) -> dict[int, _Standing]:
    """Weigh the noisy tests and adjust their p-values; by the test's index."""
    weighed = _weigh_noisy(tests, rule, priors)
    if not weighed:
        return {}
    p_values = np.array([evidence.p_value for evidence in weighed.values()] + [1.0] * others)
    strict, mild = holm(p_values), benjamini_hochberg(p_values)
    rejected = np.count_nonzero(strict < rule.alpha)
    sharing = len(p_values) - rejected + (strict < rule.alpha)
    return {
        index: _Standing(
            evidence=evidence,
            holm=float(strict[place]),
            benjamini_hochberg=float(mild[place]),
            sharing=int(sharing[place]),
        )
        for place, (index, evidence) in enumerate(weighed.items())
    }


def _weigh_noisy(tests: Sequence[PairedTest], rule: Rule, priors: Priors) -> dict[int, Evidence]:
    """Weigh the noisy tests, those of equally many pairs in one go."""
    by_pairs: defaultdict[int, list[int]] = defaultdict(list)
    for index, test in enumerate(tests):
        if test.is_noisy:
            by_pairs[len(test.base)].append(index)
    weighed: dict[int, Evidence] = {}
    for pairs, indices in by_pairs.items():
        base = np.array([tests[index].base for index in indices], dtype=np.float64)
        head = np.array([tests[index].head for index in indices], dtype=np.float64)
        evidence = weigh(
            np.log(head) - np.log(base),
            looks=looks_taken(rule.looks, pairs),
            alpha=rule.alpha,
            priors=[
                priors.get((tests[index].workload, tests[index].metric.name)) for index in indices
            ],
        )
        weighed.update(zip(indices, evidence, strict=True))
    return weighed


def _judge_noisy(test: PairedTest, standing: _Standing, rule: Rule) -> Verdict:
    evidence = standing.evidence
    if not evidence.is_enough:
        return _too_few(test, evidence.pairs)
    looks = looks_taken(rule.looks, len(test.base))
    level = nominal_levels(looks, rule.alpha / standing.sharing)[-1]
    smallest_detectable = smallest_detectable_change(
        evidence.sd,
        evidence.pairs,
        alpha=evidence.share * level,
        floor=rule.floor,
        degrees=evidence.degrees,
    )
    estimate = _estimate(test, evidence, smallest_detectable)
    finding = _find(test.metric, standing, rule)
    verdict = _verdict(test.workload, test.metric, finding, estimate, adjusted_p=standing.holm)
    states = find_two_states(*zip(*test.pairs, strict=True))
    if states is None:
        return verdict
    return replace(verdict, states=states, reason=f"{verdict.reason}; {_in_words(states)}")


def _in_words(states: TwoStates) -> str:
    shares = (
        f"{states.head_upper} of {states.head_runs} head and {states.base_upper} of "
        f"{states.base_runs} base runs"
    )
    moved = f", p = {states.p_value:.2g} for a changed share" if states.p_value < 1 else ""
    return f"runs are in two states {_percent(states.distance)} apart, {shares} in the upper{moved}"


def _find(metric: Metric, standing: _Standing, rule: Rule) -> _Finding:
    """Apply the rule: a change first, then its absence, then the admission of knowing neither."""
    evidence = standing.evidence
    is_clear = abs(evidence.mean) > evidence.half_width
    is_big = abs(evidence.mean) >= rule.log_floor - ROUNDING
    direction = _direction(metric, evidence.mean)
    if is_clear and is_big and standing.holm < rule.alpha:
        return _Finding(
            outcome=direction, reason=f"p = {standing.holm:.2g} (Holm) after {evidence.pairs} pairs"
        )
    is_listed = is_clear and is_big and standing.benjamini_hochberg < rule.alpha
    is_warning = is_listed and direction is Outcome.REGRESSED
    outcome = Outcome.UNDECIDED
    if abs(evidence.mean) + evidence.narrow_half_width <= rule.log_margin + ROUNDING:
        outcome = Outcome.UNCHANGED
    return _Finding(
        outcome=outcome,
        reason=_reason(outcome, standing, rule, is_clear=is_clear, is_warning=is_warning),
        is_warning=is_warning,
    )


def _reason(
    outcome: Outcome, standing: _Standing, rule: Rule, *, is_clear: bool, is_warning: bool
) -> str:
    evidence = standing.evidence
    within = f"within ±{_percent(max(rule.margin, rule.floor))}"
    if is_warning:
        mild = standing.benjamini_hochberg
        return (
            f"p = {mild:.2g} on the milder list only (Benjamini-Hochberg; Holm {standing.holm:.2g})"
        )
    if evidence.sd == 0:
        return f"identical in {evidence.pairs} pairs"
    if outcome is Outcome.UNCHANGED:
        return f"proven {within}" + (f", a change below {_percent(rule.floor)}" if is_clear else "")
    if is_clear:
        return f"p = {evidence.p_value:.2g} alone, but {standing.holm:.2g} among all tests (Holm)"
    return f"{evidence.pairs} pairs show no clear change and do not prove it {within}"


def _judge_exact(test: PairedTest, rule: Rule) -> Verdict:
    """Judge what needs no p-value: flawed tests, and counts that every process agrees on."""
    if test.flaw:
        return not_measured(test.workload, test.metric, test.flaw)
    pairs = test.pairs
    if len(pairs) < FEWEST_PAIRS:
        return _too_few(test, len(pairs))
    base, head = pairs[0]
    difference = math.log(head) - math.log(base)
    outcome = Outcome.UNCHANGED
    if base != head and abs(difference) >= rule.log_floor - ROUNDING:
        outcome = _direction(test.metric, difference)
    evidence = Evidence(
        pairs=len(pairs),
        mean=difference,
        sd=0.0,
        degrees=1.0,
        share=1.0,
        half_width=0.0,
        narrow_half_width=0.0,
        p_value=float(base == head),
    )
    estimate = _estimate(test, evidence, rule.floor)
    finding = _Finding(outcome=outcome, reason=f"a count, the same in {len(pairs)} pairs")
    return _verdict(test.workload, test.metric, finding, estimate, adjusted_p=evidence.p_value)


def _too_few(test: PairedTest, pairs: int) -> Verdict:
    reason = f"{pairs} of the {FEWEST_PAIRS} pairs needed"
    return _verdict(test.workload, test.metric, _Finding(outcome=Outcome.UNDECIDED, reason=reason))


def _direction(metric: Metric, difference: float) -> Outcome:
    match metric.worse:
        case Worse.HIGHER:
            return Outcome.REGRESSED if difference > 0 else Outcome.IMPROVED
        case Worse.LOWER:
            return Outcome.REGRESSED if difference < 0 else Outcome.IMPROVED
        case _ as unreachable:
            assert_never(unreachable)


def _estimate(test: PairedTest, evidence: Evidence, smallest_detectable: float) -> Estimate:
    base, head = zip(*test.pairs, strict=True)
    wide, narrow = evidence.half_width, evidence.narrow_half_width
    return Estimate(
        base=_geometric_mean(base),
        head=_geometric_mean(head),
        change=relative(evidence.mean),
        low=relative(evidence.mean - wide),
        high=relative(evidence.mean + wide),
        narrow_low=relative(evidence.mean - narrow),
        narrow_high=relative(evidence.mean + narrow),
        pairs=evidence.pairs,
        p_value=evidence.p_value,
        smallest_detectable=smallest_detectable,
    )


def _geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs))


def _verdict(
    workload: str,
    metric: Metric,
    finding: _Finding,
    estimate: Estimate | None = None,
    *,
    adjusted_p: float = 1.0,
) -> Verdict:
    return Verdict(
        workload=workload,
        metric=metric,
        outcome=finding.outcome,
        estimate=estimate,
        adjusted_p=adjusted_p,
        is_warning=finding.is_warning,
        reason=finding.reason,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
