"""Explains verdicts: which rule decided, with which figures, and what would change the outcome."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from perfledger.bundle import Plan
from perfledger.metrics import MetricKind
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import fewest_pairs
from perfledger_baselines.significance.kernel_tests import MIN_KERNEL_PAIRS
from perfledger_baselines.significance.spread_prior import SpreadPrior

# Nobody measures more pairs than this for one pull request, so advising more would be wrong.
MAX_PAIRS = 1000
# Few pairs are advised however long they take: those of large jobs take minutes each.
FEW_PAIRS = 100
# More pairs than a few are not advised if they take longer. No pull request waits for them.
MAX_ADVISED_S = float(SECONDS_PER_HOUR)


class DecidedBy(StrEnum):
    """The rule that decided a verdict."""

    NOTHING = "nothing"  # there was nothing to judge
    TOO_FEW_PAIRS = "too few pairs"
    COUNT = "count"  # exact, and the same in every process
    IDENTITY = "identity"  # every pair agreed to the last bit
    CHANGE = "change"  # significant in the whole family, and at least the floor
    WARNING = "warning"  # significant by Benjamini-Hochberg, not by Holm
    CPU_TIME = "CPU time"  # other load made wall time too noisy; CPU time lies inside the margin
    EQUIVALENCE = "equivalence"  # the narrow interval lies inside the margin
    FAMILY = "family"  # significant alone, not in the family
    FLOOR = "floor"  # significant, smaller than the floor, and not inside the margin either
    LOAD = "load"  # wall time changed, maybe because other programs took the cores
    NOISE = "noise"  # neither a change nor its absence is shown
    KERNEL_WINDOWS = "kernel windows"  # the profiled windows of kernels show neither


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictExplanation:
    """Why a verdict has its outcome.

    `pairs_needed` is about how many pairs in total would lead to `expected_outcome` if they
    continue like these; None if the verdict is final, or no practical number of pairs helps.
    `prior` is the spread learnt from earlier checks; None if it was not used.
    """

    decided_by: DecidedBy
    pairs_needed: int | None = None
    expected_outcome: Outcome | None = None
    prior: SpreadPrior | None = None


def explain_verdict(verdict: Verdict, plan: Plan) -> VerdictExplanation:
    """Explain a verdict by its figures and its check's plan; nothing is judged again."""
    rule = DecisionRule.from_plan(plan).of(verdict.workload)
    decided_by = _decided_by(verdict, rule)
    estimate = verdict.estimate
    pairs_needed, expected = None, None
    if verdict.metric.kind is MetricKind.KERNEL:  # no more pairs than planned have windows
        is_short = decided_by is DecidedBy.TOO_FEW_PAIRS
        pairs_needed = MIN_KERNEL_PAIRS if is_short else None
    elif decided_by is DecidedBy.TOO_FEW_PAIRS:
        pairs_needed = fewest_pairs(rule.looks, has_history=verdict.prior is not None)
    elif decided_by is DecidedBy.LOAD:
        pairs_needed = None  # other programs decide, not the number of pairs
    elif estimate is not None and verdict.outcome is Outcome.UNDECIDED:
        pairs_needed, expected = _pairs_to_decide(verdict, estimate, rule)
    return VerdictExplanation(
        decided_by=decided_by,
        pairs_needed=pairs_needed,
        expected_outcome=expected,
        prior=verdict.prior,
    )


def is_practical(pairs: int | None, *, more: int, seconds_per_pair: float | None) -> bool:
    """Return whether so many pairs are good advice; None, as in an explanation, never is.

    They are `more` than were measured, and each takes `seconds_per_pair`, None if unknown.
    """
    if pairs is None:
        return False
    return pairs <= FEW_PAIRS or more * (seconds_per_pair or 0.0) <= MAX_ADVISED_S


def _decided_by(verdict: Verdict, rule: DecisionRule) -> DecidedBy:
    estimate = verdict.estimate
    is_loaded = verdict.queued_share is not None
    if estimate is not None and estimate.low == estimate.high and not is_loaded:
        return DecidedBy.IDENTITY if estimate.change == 0 else DecidedBy.COUNT
    match verdict.outcome:
        case Outcome.NOT_MEASURED:
            return DecidedBy.NOTHING
        case Outcome.REGRESSED | Outcome.IMPROVED:
            return DecidedBy.CHANGE
        case Outcome.UNCHANGED:
            return DecidedBy.CPU_TIME if is_loaded else DecidedBy.EQUIVALENCE
        case Outcome.UNDECIDED:
            return _undecided_by(verdict, rule)
        case _ as unreachable:
            assert_never(unreachable)


def _undecided_by(verdict: Verdict, rule: DecisionRule) -> DecidedBy:
    estimate = verdict.estimate
    if verdict.metric.kind is MetricKind.KERNEL:  # a kernel that is new or gone has no estimate
        is_tested = estimate is not None or verdict.profiled_pairs >= MIN_KERNEL_PAIRS
        return DecidedBy.KERNEL_WINDOWS if is_tested else DecidedBy.TOO_FEW_PAIRS
    if verdict.is_warning:
        return DecidedBy.WARNING
    if verdict.queued_share is not None:
        return DecidedBy.LOAD
    if estimate is None:
        return DecidedBy.TOO_FEW_PAIRS
    if estimate.low <= 0 <= estimate.high:
        return DecidedBy.NOISE
    is_big = abs(math.log1p(estimate.change)) >= math.log1p(rule.floor_of(verdict.prior))
    return DecidedBy.FAMILY if is_big else DecidedBy.FLOOR


def _pairs_to_decide(
    verdict: Verdict, estimate: EffectEstimate, rule: DecisionRule
) -> tuple[int | None, Outcome | None]:
    """Return how many pairs would decide a verdict, and the expected outcome.

    Widths of intervals fall with the square root of the pairs. A change inside the margin becomes
    UNCHANGED; one outside is called once it is significant in the family: the smallest detectable
    change accounts for the other tests' share of alpha.
    """
    size = abs(math.log1p(estimate.change))
    narrow = (math.log1p(estimate.narrow_high) - math.log1p(estimate.narrow_low)) / 2
    distance_to_margin = rule.log_margin - size
    if distance_to_margin > 0:
        return _pairs(estimate.pairs, narrow / distance_to_margin), Outcome.UNCHANGED
    detectable = math.log1p(estimate.smallest_detectable)
    is_worse = (estimate.change > 0) == (verdict.metric.worse == "higher")
    return (
        _pairs(estimate.pairs, detectable / size),
        Outcome.REGRESSED if is_worse else Outcome.IMPROVED,
    )


def _pairs(pairs: int, too_wide_by: float) -> int | None:
    needed = math.ceil(pairs * max(1.0, too_wide_by) ** 2)
    return max(needed, pairs + 1) if needed <= MAX_PAIRS else None
