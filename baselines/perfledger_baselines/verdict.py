"""The words of judging."""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.metrics import Metric
from perfledger_baselines.prior import SpreadPrior
from perfledger_baselines.two_states import TwoStates


class Outcome(StrEnum):
    """What the judge found; exactly five words."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How much a metric changed. All relative figures are head / base - 1, so +0.05 is 5 % more.

    `low` and `high` bound the change at the plan's confidence, valid at whatever look it stopped,
    not adjusted for the family; `narrow_low` and `narrow_high` are the interval that equivalence is
    decided on. `base` and `head` are typical values in the metric's unit (geometric means of the
    processes' locations).
    """

    base: float
    head: float
    change: float
    low: float
    high: float
    narrow_low: float
    narrow_high: float
    pairs: int
    p_value: float  # two-sided, valid over the looks taken, before family correction
    smallest_detectable: float  # relative change that these pairs would have found, 80 % power


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judge's word on one metric of one workload, and what it rests on.

    `estimate` is None when the outcome is NOT_MEASURED, and when it is UNDECIDED for want of pairs:
    without a history fewer than four have no interval worth the name. `adjusted_p` is Holm's; 1
    without an estimate. `is_warning` says that only the milder Benjamini-Hochberg list has it:
    yellow, never red. `prior` is what earlier checks told of its spread, where they did.
    """

    workload: str
    metric: Metric
    outcome: Outcome
    estimate: Estimate | None
    adjusted_p: float
    is_warning: bool
    reason: str
    states: TwoStates | None = None  # where the runs are in one of two, and a mean says little
    prior: SpreadPrior | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the metric got worse by the floor or more, with the error that alpha allows."""
        return self.outcome is Outcome.REGRESSED
