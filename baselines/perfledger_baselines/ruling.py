"""Paired tests of one family in, one of the five words on each and what it rests on out."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from perfledger.metrics import Metric
from perfledger_baselines.evidence import Evidence, weigh
from perfledger_baselines.finding import (
    ROUNDING,
    Standing,
    Word,
    counted,
    direction_of,
    estimate_of,
    standings,
    word_of,
)
from perfledger_baselines.looks import FEWEST_PAIRS, fewest_alone, looks_taken
from perfledger_baselines.pairing import PairedTest, differences_of
from perfledger_baselines.power import smallest_detectable_change
from perfledger_baselines.prior import Priors, SpreadPrior
from perfledger_baselines.rule import Rule
from perfledger_baselines.spending import nominal_levels
from perfledger_baselines.two_states import TwoStates, find_two_states
from perfledger_baselines.verdict import Estimate, Outcome, Verdict


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
    weighed = weigh_tests(tests, rule=rule, priors=priors)
    found = standings(weighed, alpha=rule.alpha, others=others)
    verdicts = (
        _judge_noisy(test, found[index], rule, priors.get(_key(test)))
        if index in found
        else _judge_exact(test, rule)
        for index, test in enumerate(tests)
    )
    return tuple(map(_counting_left_out, tests, verdicts))


def not_measured(workload: str, metric: Metric, reason: str) -> Verdict:
    """Return the verdict on what should have been measured and was not."""
    return _verdict(workload, metric, _Finding(outcome=Outcome.NOT_MEASURED, reason=reason))


def weigh_tests(tests: Sequence[PairedTest], *, rule: Rule, priors: Priors) -> dict[int, Evidence]:
    """Weigh the noisy tests by their places, those of equally many pairs in one go."""
    by_pairs: defaultdict[int, list[int]] = defaultdict(list)
    for index, test in enumerate(tests):
        if test.is_noisy:
            by_pairs[len(test.base)].append(index)
    weighed: dict[int, Evidence] = {}
    for pairs, indices in by_pairs.items():
        evidence = weigh(
            differences_of([tests[index] for index in indices]),
            looks=looks_taken(rule.looks, pairs),
            alpha=rule.alpha,
            priors=[priors.get(_key(tests[index])) for index in indices],
        )
        weighed.update(zip(indices, evidence, strict=True))
    return weighed


def _key(test: PairedTest) -> tuple[str, str]:
    return test.workload, test.metric.name


def _counting_left_out(test: PairedTest, verdict: Verdict) -> Verdict:
    """Return a verdict that tells how many pairs were measured for it and not compared."""
    if not test.other_clocks:
        return verdict
    left_out = f"{_in_pairs(test.other_clocks)} left out, made at clocks that differ"
    return replace(verdict, reason=f"{verdict.reason}; {left_out}")


def _judge_noisy(
    test: PairedTest, standing: Standing, rule: Rule, prior: SpreadPrior | None
) -> Verdict:
    evidence = standing.evidence
    if not evidence.is_enough:
        return _too_few(test, evidence.pairs, fewest=fewest_alone(rule.looks))
    looks = looks_taken(rule.looks, len(test.base))
    level = nominal_levels(looks, rule.alpha / standing.sharing)[-1]
    floor = rule.floor_of(prior)
    smallest_detectable = smallest_detectable_change(
        evidence.sd,
        evidence.pairs,
        alpha=evidence.share * level,
        floor=floor,
        degrees=evidence.degrees,
    )
    base, head = zip(*test.pairs, strict=True)
    estimate = estimate_of(base, head, evidence, smallest_detectable=smallest_detectable)
    finding = _find(test.metric, standing, rule, floor=floor)
    verdict = _verdict(test.workload, test.metric, finding, estimate, adjusted_p=standing.holm)
    states = find_two_states(base, head)
    reason = finding.reason
    if prior is not None and evidence.sd > 0:
        reason += f"; leans on a history of {prior.values} {prior.source}"
    if states is not None:
        reason += f"; {_in_words(states)}"
    return replace(verdict, states=states, prior=prior, reason=reason)


def _in_words(states: TwoStates) -> str:
    shares = (
        f"{states.head_upper} of {states.head_runs} head and {states.base_upper} of "
        f"{states.base_runs} base runs"
    )
    moved = f", p = {states.p_value:.2g} for a changed share" if states.p_value < 1 else ""
    return f"runs are in two states {_percent(states.distance)} apart, {shares} in the upper{moved}"


def _find(metric: Metric, standing: Standing, rule: Rule, *, floor: float) -> _Finding:
    word = word_of(metric, standing, rule, floor=floor)
    reason = _reason(word, standing, rule, floor=floor)
    return _Finding(outcome=word.outcome, reason=reason, is_warning=word.is_warning)


def _reason(word: Word, standing: Standing, rule: Rule, *, floor: float) -> str:
    evidence = standing.evidence
    within = f"within ±{_percent(max(rule.margin, rule.floor))}"
    if word.outcome in {Outcome.REGRESSED, Outcome.IMPROVED}:
        return f"p = {standing.holm:.2g} (Holm) after {_in_pairs(evidence.pairs)}"
    if word.is_warning:
        mild = standing.benjamini_hochberg
        return (
            f"p = {mild:.2g} on the milder list only (Benjamini-Hochberg; Holm {standing.holm:.2g})"
        )
    if evidence.sd == 0:
        return f"identical in {evidence.pairs} pairs"
    if word.outcome is Outcome.UNCHANGED:
        below = f", a change below {_percent(floor)}" if standing.is_clear else ""
        return f"proven {within}{below}"
    if standing.is_clear:
        return (
            f"a change, but below {_percent(floor)}, and not proven {within}"
            if standing.holm < rule.alpha
            else f"p = {evidence.p_value:.2g} alone, but {standing.holm:.2g} among all tests (Holm)"
        )
    shown = (
        "shows no clear change and does" if evidence.pairs == 1 else "show no clear change and do"
    )
    return f"{_in_pairs(evidence.pairs)} {shown} not prove it {within}"


def _judge_exact(test: PairedTest, rule: Rule) -> Verdict:
    """Judge what needs no p-value: flawed tests, and counts that every process agrees on."""
    if test.flaw:
        return not_measured(test.workload, test.metric, test.flaw)
    pairs = test.pairs
    if len(pairs) < FEWEST_PAIRS:
        return _too_few(test, len(pairs), fewest=FEWEST_PAIRS)
    evidence = counted(*pairs[0], pairs=len(pairs))
    outcome = Outcome.UNCHANGED
    if evidence.mean != 0 and abs(evidence.mean) >= rule.log_floor - ROUNDING:
        outcome = direction_of(test.metric, evidence.mean)
    base, head = zip(*pairs, strict=True)
    estimate = estimate_of(base, head, evidence, smallest_detectable=rule.floor)
    finding = _Finding(outcome=outcome, reason=f"a count, the same in {len(pairs)} pairs")
    return _verdict(test.workload, test.metric, finding, estimate, adjusted_p=evidence.p_value)


def _too_few(test: PairedTest, pairs: int, *, fewest: int) -> Verdict:
    reason = f"{pairs} of the {fewest} pairs needed"
    return _verdict(test.workload, test.metric, _Finding(outcome=Outcome.UNDECIDED, reason=reason))


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


def _in_pairs(pairs: int) -> str:
    return "1 pair" if pairs == 1 else f"{pairs} pairs"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
