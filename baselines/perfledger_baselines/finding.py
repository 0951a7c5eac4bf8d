"""What tests of one family say by themselves in, each one's place in the family and its word out.

The rule is one, however the runs were made: in pairs (`ruling`) or not (`comparison`).
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from perfledger.metrics import Metric, Worse
from perfledger_baselines.evidence import Evidence
from perfledger_baselines.family import benjamini_hochberg, holm
from perfledger_baselines.power import relative
from perfledger_baselines.rule import Rule
from perfledger_baselines.verdict import Estimate, Outcome

# On the log scale. Logs, means and differences are rounded on their way; whether a change of just
# the floor or the margin counts must not depend on that.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A noisy test's evidence and its place in the family."""

    evidence: Evidence
    holm: float
    benjamini_hochberg: float
    sharing: int  # how many tests share alpha with it, itself included

    @property
    def is_clear(self) -> bool:
        """Whether the interval of this test alone leaves zero out."""
        return abs(self.evidence.mean) > self.evidence.half_width


@dataclass(frozen=True, slots=True)
class Word:
    """One of the five words, and whether the milder list has what the strict one has not."""

    outcome: Outcome
    is_warning: bool = False


def standings(
    weighed: Mapping[int, Evidence], *, alpha: float, others: int = 0
) -> dict[int, Standing]:
    """Adjust the tests' p-values as one family; `others` more have none and take their share."""
    if not weighed:
        return {}
    p_values = np.array([evidence.p_value for evidence in weighed.values()] + [1.0] * others)
    strict, mild = holm(p_values), benjamini_hochberg(p_values)
    rejected = np.count_nonzero(strict < alpha)
    sharing = len(p_values) - rejected + (strict < alpha)
    return {
        index: Standing(
            evidence=evidence,
            holm=float(strict[place]),
            benjamini_hochberg=float(mild[place]),
            sharing=int(sharing[place]),
        )
        for place, (index, evidence) in enumerate(weighed.items())
    }


def word_of(metric: Metric, standing: Standing, rule: Rule, *, floor: float) -> Word:
    """Apply the rule: a change first, then its absence, then the admission of knowing neither.

    `floor` is the smallest relative change of this series that is called one.
    """
    evidence = standing.evidence
    is_big = abs(evidence.mean) >= math.log1p(floor) - ROUNDING
    direction = direction_of(metric, evidence.mean)
    if standing.is_clear and is_big and standing.holm < rule.alpha:
        return Word(direction)
    is_listed = standing.is_clear and is_big and standing.benjamini_hochberg < rule.alpha
    is_same = abs(evidence.mean) + evidence.narrow_half_width <= rule.log_margin + ROUNDING
    return Word(
        Outcome.UNCHANGED if is_same else Outcome.UNDECIDED,
        is_listed and direction is Outcome.REGRESSED,
    )


def direction_of(metric: Metric, difference: float) -> Outcome:
    """Return what a difference of logs means for the metric."""
    match metric.worse:
        case Worse.HIGHER:
            return Outcome.REGRESSED if difference > 0 else Outcome.IMPROVED
        case Worse.LOWER:
            return Outcome.REGRESSED if difference < 0 else Outcome.IMPROVED
        case _ as unreachable:
            assert_never(unreachable)


def estimate_of(
    base: Iterable[float],
    head: Iterable[float],
    evidence: Evidence,
    *,
    smallest_detectable: float,
) -> Estimate:
    """Return the evidence in relative figures, with both sides' geometric means."""
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


def counted(base: float, head: float, *, pairs: int) -> Evidence:
    """Return the evidence of counts that agree on either side: there is nothing to doubt."""
    return Evidence(
        pairs=pairs,
        mean=math.log(head) - math.log(base),
        sd=0.0,
        degrees=1.0,
        share=1.0,
        half_width=0.0,
        narrow_half_width=0.0,
        p_value=float(base == head),
    )


def _geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs))
