"""A verdict in, which rule it rests on, with which numbers, and what would change it out."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from perfledger.bundle import Plan
from perfledger_baselines.looks import fewest_alone
from perfledger_baselines.prior import SpreadPrior
from perfledger_baselines.rule import Rule
from perfledger_baselines.verdict import Estimate, Outcome, Verdict

# More pairs than this nobody measures for one pull request: "more" is then the wrong advice.
MOST_PAIRS = 1000


class DecidedBy(StrEnum):
    """The rule that gave a verdict its word."""

    NOTHING = "nothing"  # there was nothing to judge
    TOO_FEW_PAIRS = "too few pairs"
    COUNT = "count"  # exact, and the same in every process
    IDENTITY = "identity"  # every pair agreed to the last bit
    CHANGE = "change"  # beyond chance in the whole family, and at least the floor
    WARNING = "warning"  # on the milder list only
    EQUIVALENCE = "equivalence"  # the narrow interval lies inside the margin
    FAMILY = "family"  # clear alone, and lost among the other tests
    FLOOR = "floor"  # sure, smaller than the floor, and not inside the margin either
    NOISE = "noise"  # neither a change nor its absence shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a verdict is what it is. Relative figures are as in Estimate.

    `pairs_needed` is about how many pairs, in all, would make `then` of it, if they go on as they
    did; None where the verdict stands, or where no number of pairs that one would measure helps.
    `leans_on` is what earlier checks told of the spread; None where the pairs spoke for themselves.
    """

    decided_by: DecidedBy
    floor: float
    margin: float
    alpha: float
    pairs: int
    pairs_needed: int | None = None
    then: Outcome | None = None
    leans_on: SpreadPrior | None = None


def explain_verdict(verdict: Verdict, plan: Plan) -> Explanation:
    """Explain a verdict by its own numbers and the plan of its check; nothing is judged again."""
    rule = Rule.from_plan(plan)
    decided_by = _decided_by(verdict, rule)
    estimate = verdict.estimate
    pairs_needed, then = None, None
    if decided_by is DecidedBy.TOO_FEW_PAIRS:
        pairs_needed = fewest_alone(rule.looks)
    elif estimate is not None and verdict.outcome is Outcome.UNDECIDED:
        pairs_needed, then = _way_out(verdict, estimate, rule)
    return Explanation(
        decided_by=decided_by,
        floor=rule.floor_of(verdict.prior),
        margin=max(rule.margin, rule.floor),
        alpha=rule.alpha,
        pairs=estimate.pairs if estimate else 0,
        pairs_needed=pairs_needed,
        then=then,
        leans_on=verdict.prior,
    )


def _decided_by(verdict: Verdict, rule: Rule) -> DecidedBy:
    estimate = verdict.estimate
    if estimate is not None and estimate.low == estimate.high:
        return DecidedBy.IDENTITY if estimate.change == 0 else DecidedBy.COUNT
    match verdict.outcome:
        case Outcome.NOT_MEASURED:
            return DecidedBy.NOTHING
        case Outcome.REGRESSED | Outcome.IMPROVED:
            return DecidedBy.CHANGE
        case Outcome.UNCHANGED:
            return DecidedBy.EQUIVALENCE
        case Outcome.UNDECIDED:
            return _kept_open_by(verdict, rule)
        case _ as unreachable:
            assert_never(unreachable)


def _kept_open_by(verdict: Verdict, rule: Rule) -> DecidedBy:
    estimate = verdict.estimate
    if estimate is None:
        return DecidedBy.TOO_FEW_PAIRS
    if verdict.is_warning:
        return DecidedBy.WARNING
    if estimate.low <= 0 <= estimate.high:
        return DecidedBy.NOISE
    is_big = abs(math.log1p(estimate.change)) >= math.log1p(rule.floor_of(verdict.prior))
    return DecidedBy.FAMILY if is_big else DecidedBy.FLOOR


def _way_out(verdict: Verdict, estimate: Estimate, rule: Rule) -> tuple[int | None, Outcome | None]:
    """Return how many pairs would decide it, and as what.

    Widths of intervals fall with the square root of the pairs. A change inside the margin will be
    shown to be none; one outside will be shown to be one, if it is clear among the other tests too:
    their share of alpha is what the smallest detectable change was reckoned with.
    """
    size = abs(math.log1p(estimate.change))
    narrow = (math.log1p(estimate.narrow_high) - math.log1p(estimate.narrow_low)) / 2
    room = rule.log_margin - size
    if room > 0:
        return _pairs(estimate.pairs, narrow / room), Outcome.UNCHANGED
    detectable = math.log1p(estimate.smallest_detectable)
    is_worse = (estimate.change > 0) == (verdict.metric.worse == "higher")
    return (
        _pairs(estimate.pairs, detectable / size),
        Outcome.REGRESSED if is_worse else Outcome.IMPROVED,
    )


def _pairs(pairs: int, too_wide_by: float) -> int | None:
    needed = math.ceil(pairs * max(1.0, too_wide_by) ** 2)
    return max(needed, pairs + 1) if needed <= MOST_PAIRS else None
