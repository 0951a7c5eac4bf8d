"""A check's pairs and verdicts in, how many such pairs find a change as large as its margin out."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger.bundle import Bundle
from perfledger_baselines.evidence import Evidence
from perfledger_baselines.explanation import MOST_PAIRS
from perfledger_baselines.finding import ROUNDING, Standing, standings
from perfledger_baselines.judge import judged_family
from perfledger_baselines.looks import Looks, fewest_alone
from perfledger_baselines.power import smallest_detectable_change
from perfledger_baselines.prior import SpreadPrior
from perfledger_baselines.rule import Rule
from perfledger_baselines.ruling import weigh_tests
from perfledger_baselines.spending import nominal_levels
from perfledger_baselines.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsNeeded:
    """How many pairs find a relative change of one result; None if MOST_PAIRS do not."""

    workload: str
    metric: str
    change: float
    pairs: int | None


def pairs_needed_in(bundle: Bundle, verdicts: Sequence[Verdict]) -> tuple[PairsNeeded, ...]:
    """Return for each result with a spread how many pairs find a change of the plan's margin.

    `verdicts` are those on the bundle. That many pairs have a smallest detectable change, reckoned
    as a verdict's is, of the margin or less: the first planned look that does, or beyond the last
    one so many as do at its level. What is a count, is the same in every pair or has too few pairs
    has no spread. No number of pairs calls a change that is not above the floor: where the margin
    is not, there is none to tell. Raises PlanError.
    """
    rule = Rule.from_plan(bundle.plan)
    known = {(verdict.workload, verdict.metric.name): verdict for verdict in verdicts}
    priors = {key: verdict.prior for key, verdict in known.items() if verdict.prior is not None}
    tests, others = judged_family(bundle)
    weighed = weigh_tests(tests, rule=rule, priors=priors)
    found = standings(weighed, alpha=rule.alpha, others=others)
    needed: list[PairsNeeded] = []
    for place, standing in found.items():
        key = (tests[place].workload, tests[place].metric.name)
        prior = priors.get(key)
        has_room = math.log1p(rule.margin) - math.log1p(rule.floor_of(prior)) > ROUNDING
        if has_room and standing.evidence.is_enough and standing.evidence.sd > 0:
            pairs = _pairs(standing, rule, prior=prior)
            needed.append(
                PairsNeeded(workload=key[0], metric=key[1], change=rule.margin, pairs=pairs)
            )
    return tuple(needed)


def _pairs(standing: Standing, rule: Rule, *, prior: SpreadPrior | None) -> int | None:
    evidence, level = standing.evidence, rule.alpha / standing.sharing
    floor, fewest = rule.floor_of(prior), fewest_alone(rule.looks) if prior is None else 1

    def is_found(pairs: int, level: float) -> bool:
        return _detectable(evidence, pairs, level=level, floor=floor) <= rule.margin

    last = fewest - 1
    if rule.looks:
        levels = nominal_levels(Looks(rule.looks, rule.looks), level)
        for look, nominal in zip(rule.looks, levels, strict=True):
            if look >= fewest and is_found(look, nominal):
                return look
        last, level = max(last, rule.looks[-1]), levels[-1]
    beyond = range(last + 1, MOST_PAIRS + 1)
    place = bisect_left(beyond, True, key=lambda pairs: is_found(pairs, level))
    return beyond[place] if place < len(beyond) else None


def _detectable(evidence: Evidence, pairs: int, *, level: float, floor: float) -> float:
    """Return the smallest change that so many pairs would find; each tells a degree of freedom."""
    return smallest_detectable_change(
        evidence.sd,
        pairs,
        alpha=evidence.share * level,
        floor=floor,
        degrees=max(1.0, evidence.degrees + pairs - evidence.pairs),
    )
