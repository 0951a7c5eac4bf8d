"""Holds the values that judging returns: outcomes, effect estimates and verdicts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from perfledger.metrics import Metric, MetricKind
from perfledger_baselines.significance.bimodality import Bimodality
from perfledger_baselines.significance.spread_prior import SpreadPrior


class Outcome(StrEnum):
    """The five outcomes of a verdict."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectEstimate:
    """How much a metric changed. All relative figures are head / base - 1, so +0.05 is 5 % more.

    `low` and `high` bound the change at the plan's confidence, valid at whichever look the test
    stopped, not adjusted for the family; `narrow_low` and `narrow_high` are the interval that
    decides equivalence, valid in the same way. `base` and `head` are typical values in the metric's
    unit: geometric means of the processes' values, of utilization near 1 the shares with the mean
    log-odds, of kernels the median pair. Except for kernels, `change` is head / base - 1.
    """

    base: float
    head: float
    change: float
    low: float
    high: float
    narrow_low: float
    narrow_high: float
    pairs: int
    p_value: float  # two-sided, valid over the completed looks, before family correction
    smallest_detectable: float  # relative change that these pairs detect with 80 % power


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The outcome for one metric of one workload, with its estimate and reason.

    `estimate` is None when the outcome is NOT_MEASURED, and when it is UNDECIDED with too few
    pairs: without a history fewer than four have no useful interval. The estimate of kernels is
    that of the deciding kernel family; None if none decides, or if it is new or gone. `adjusted_p`
    is Holm's; 1 without an estimate. `is_warning` marks a worsening that is significant by
    Benjamini-Hochberg and not by Holm, or a kernel that lost less than others gained: yellow, never
    red. `prior` is the spread learnt from earlier checks, if any.
    """

    workload: str
    metric: Metric
    outcome: Outcome
    estimate: EffectEstimate | None
    adjusted_p: float
    is_warning: bool
    reason: str
    states: Bimodality | None = None  # where runs are in one of two states, which a mean hides
    prior: SpreadPrior | None = None
    # Of the wall time: spent waiting for a core, where CPU time settled the outcome; spent waiting
    # for other programs, where these may be why it changed.
    queued_share: float | None = None
    profiled_pairs: int = 0  # pairs with windows that a verdict on kernels rests on

    @property
    def shown_estimate(self) -> EffectEstimate | None:
        """Return the estimate whose `low` and `high` are the interval that decided.

        That of equivalence where the outcome is UNCHANGED, else that of a change. If CPU time
        settled it, the interval is of the wall time without the wait for a core; where the wall
        time's change lies outside it, its middle is the change.
        """
        estimate = self.estimate
        if estimate is None or self.outcome is not Outcome.UNCHANGED:
            return estimate
        low, high = estimate.narrow_low, estimate.narrow_high
        change = estimate.change
        if self.excludes_waits:
            change = math.expm1((math.log1p(low) + math.log1p(high)) / 2)
        return replace(estimate, change=change, low=low, high=high)

    @property
    def excludes_waits(self) -> bool:
        """Return whether the shown change is that of wall time without waits for a core.

        The typical values of both sides include these waits, so their ratio differs.
        """
        estimate = self.estimate
        if estimate is None or self.outcome is not Outcome.UNCHANGED:
            return False
        return not estimate.narrow_low <= estimate.change <= estimate.narrow_high

    @property
    def is_regression(self) -> bool:
        """Return whether the metric got worse by the floor or more, at the error rate alpha."""
        return self.outcome is Outcome.REGRESSED

    @property
    def is_faster(self) -> bool:
        """Return whether the step became faster, by the floor or more, at the error rate alpha."""
        return self.outcome is Outcome.IMPROVED and self.metric.kind is MetricKind.SPEED


def is_memory_change_alone(workload: str, verdicts: Iterable[Verdict]) -> bool:
    """Return whether a workload changed in its peak memory and in nothing else."""
    kinds = {
        each.metric.kind
        for each in verdicts
        if each.workload == workload and each.outcome in (Outcome.REGRESSED, Outcome.IMPROVED)
    }
    return kinds == {MetricKind.MEMORY}
