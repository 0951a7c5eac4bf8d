"""A check's plan in, the part of it that judging goes by out."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from perfledger.bundle import Plan
from perfledger_baselines.prior import PriorSource, SpreadPrior

# Of the standard deviation that a series' runs usually have: less is lost among them, however many
# pairs prove it.
FLOOR_SHARE = 0.5


class PlanError(ValueError):
    """The plan asks for something that no judge can do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When to look, and what counts as a change.

    `looks` are numbers of pairs; empty means one look at all there are. `alpha` is the family-wise
    error rate of the check, `margin` what "unchanged" is proven to be within, `floor` the smallest
    change that is called one; both relative, and a margin below the floor acts as the floor does.
    Raises PlanError.
    """

    looks: tuple[int, ...]
    alpha: float
    margin: float
    floor: float

    @classmethod
    def from_plan(cls, plan: Plan) -> Self:
        """Take from a bundle's plan what judging needs."""
        return cls(looks=plan.looks, alpha=plan.alpha, margin=plan.margin, floor=plan.floor)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:  # noqa: PLR2004 - from there on a coin would do
            msg = f"alpha {self.alpha} is no error rate: give one between 0 and 0.5, such as 0.05"
            raise PlanError(msg)
        for name, value in (("margin", self.margin), ("floor", self.floor)):
            if not (math.isfinite(value) and value >= 0):
                msg = f"{name} {value} is no relative change: give one of 0 or more, such as 0.01"
                raise PlanError(msg)
        if any(later <= earlier for earlier, later in pairwise((0, *self.looks))):
            msg = f"looks {self.looks} are no plan: give numbers of pairs that increase"
            raise PlanError(msg)

    @property
    def most_pairs(self) -> int | None:
        """Return how many pairs can be judged: beyond the last planned look no alpha is left."""
        return self.looks[-1] if self.looks else None

    @property
    def log_floor(self) -> float:
        """Return the floor on the log scale, where it is the same for either direction."""
        return math.log1p(self.floor)

    def floor_of(self, prior: SpreadPrior | None) -> float:
        """Return the smallest relative change of a series that is called one.

        Half of its runs' usual standard deviation, where a history of pairs tells that: at least
        the floor of all, and at most the margin, beyond which no change is small. Of single runs it
        is not taken: they differ by what sessions do.
        """
        if prior is None or prior.source is not PriorSource.PAIRS:
            return self.floor
        usual = FLOOR_SHARE * math.sqrt(prior.variance / 2)  # two runs make a pair
        return max(self.floor, math.expm1(min(usual, self.log_margin)))

    @property
    def log_margin(self) -> float:
        """Return on the log scale what a change must be proven to be within to be none."""
        return math.log1p(max(self.margin, self.floor))
