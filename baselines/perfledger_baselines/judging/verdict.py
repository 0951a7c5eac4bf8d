"""Holds the values that judging returns: outcomes, effect estimates and verdicts."""

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
    # for other programs, where these are a part of why it changed, or may be; 1 if that is unknown.
    queued_share: float | None = None
    profiled_pairs: int = 0  # pairs with windows that a verdict on kernels rests on

    @property
    def shown_estimate(self) -> EffectEstimate | None:
        """Return the estimate whose `low` and `high` are the interval that decided.

        That of equivalence where the outcome is UNCHANGED, else that of a change.
        """
        estimate = self.estimate
        if estimate is None or self.outcome is not Outcome.UNCHANGED:
            return estimate
        return replace(estimate, low=estimate.narrow_low, high=estimate.narrow_high)

    @property
    def excludes_waits(self) -> bool:
        """Return whether the figures are those of wall time without waits for a core."""
        return self._is_of_load and self.metric.kind is MetricKind.SPEED

    @property
    def includes_waits(self) -> bool:
        """Return whether the figures are made by waits for a core, as far as is known."""
        return self._is_of_load and self.metric.kind in {MetricKind.TAIL, MetricKind.START}

    @property
    def _is_of_load(self) -> bool:
        return self.queued_share is not None and self.estimate is not None

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
