"""Holds the rule that decides verdicts: error rate, margin, floor and planned looks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Self

from perfledger.bundle import Plan
from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior

# On the log scale. Logs, means and differences are rounded during computation; whether a change of
# exactly the floor or the margin counts must not depend on that.
ROUNDING = 1e-12
# Smallest change that counts, relative to the standard deviation of a series' runs. Relative to the
# usual standard deviation of a series' runs: a smaller change lies within their spread, however
# many pairs prove it.
FLOOR_SHARE = 0.5


class CheckPlanError(ValueError):
    """An error for a check's plan that cannot be used for judging."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRule:
    """When to look at the data, and what counts as a change.

    `looks` are numbers of pairs; empty means one look at all of them. `alpha` is the family-wise
    error rate of all tests but those of kernels, `margin` the bound within which "unchanged" is
    proven to lie, `floor` the smallest change that is called a change. Both are relative, and a
    margin below the floor acts as the floor. `margins` are for the workloads that have their own.
    Raises CheckPlanError.
    """

    looks: tuple[int, ...]
    alpha: float
    margin: float
    floor: float
    margins: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Return the rule of a bundle's plan."""
        return cls(
            looks=plan.looks,
            alpha=plan.alpha * (1 - plan.kernel_share),
            margin=plan.margin,
            floor=plan.floor,
            margins=plan.margins,
        )

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004 - from there on a coin would do
            msg = f"alpha {self.alpha} is not an error rate: use a value in (0, 0.5), such as 0.05"
            raise CheckPlanError(msg)
        margins = (("margin", each) for each in (self.margin, *self.margins.values()))
        for name, value in (*margins, ("floor", self.floor)):
            if not (math.isfinite(value) and value >= 0):
                msg = f"{name} {value} is not a relative change: use 0 or more, such as 0.01"
                raise CheckPlanError(msg)
        if any(later <= earlier for earlier, later in pairwise((0, *self.looks))):
            msg = f"looks {self.looks} are not a plan: use increasing numbers of pairs"
            raise CheckPlanError(msg)

    def of(self, workload: str) -> Self:
        """Return the rule for a workload, with its own margin if it has one."""
        own_margin = self.margins.get(workload)
        return self if own_margin is None else replace(self, margin=own_margin, margins={})

    @property
    def most_pairs(self) -> int | None:
        """Return how many pairs can be judged: by the last planned look all alpha is spent."""
        return self.looks[-1] if self.looks else None

    def floor_of(self, prior: SpreadPrior | None) -> float:
        """Return the smallest relative change of a series that is called a change.

        It is half of the usual standard deviation of its runs, if a history of pairs is known: at
        least the common floor, and at most the margin, beyond which no change is small. A history
        of single runs does not count, because they differ by their sessions.
        """
        if prior is None or prior.source is not PriorSource.PAIRS:
            return self.floor
        usual = FLOOR_SHARE * math.sqrt(prior.variance / 2)  # two runs make a pair
        return max(self.floor, math.expm1(min(usual, self.log_margin)))

    @property
    def log_margin(self) -> float:
        """Return the equivalence margin on the log scale."""
        return math.log1p(max(self.margin, self.floor))
