"""What a quarter was planned to cost and what it did into why the two differ."""

from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.allocation import CENT


class BudgetError(ValueError):
    """Hours or money that no budget can be held against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a review expects of the next quarter: the budget that the next review is held to."""

    quarter: str
    hours: Decimal  # of all the accelerator's, what is held already included
    usd: Decimal | None  # None where what the supply costs is not known
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variance:
    """Why a quarter cost more (> 0) or less than planned; the parts sum to the cent.

    `efficiency_usd` is what code that got slower or faster did, None where that was not measured:
    it is then a part of the volume.
    """

    budget_usd: Decimal
    actual_usd: Decimal
    volume_usd: Decimal
    efficiency_usd: Decimal | None
    price_usd: Decimal


def variance(
    *,
    budget_usd: Decimal,
    budget_hours: Decimal,
    actual_usd: Decimal,
    actual_hours: Decimal,
    efficiency_hours: Decimal | None,
) -> Variance:
    """Split actual - budget into volume, efficiency and price.

    Hours more or fewer than planned count at the planned rate, and of those `efficiency_hours` are
    due to code; the rest is the rate's change over the hours that there were (flexible budget, e.g.
    Horngren, *Cost Accounting*). Raises BudgetError without planned hours.
    """
    if budget_hours <= 0 or actual_hours < 0:
        msg = f"{budget_hours} hours were planned and {actual_hours} used: there is no rate"
        raise BudgetError(msg)
    rate = budget_usd / budget_hours
    budget, actual = budget_usd.quantize(CENT), actual_usd.quantize(CENT)
    efficiency = None if efficiency_hours is None else (efficiency_hours * rate).quantize(CENT)
    more = ((actual_hours - budget_hours) * rate).quantize(CENT)
    return Variance(
        budget_usd=budget,
        actual_usd=actual,
        volume_usd=more - (efficiency or Decimal(0)),
        efficiency_usd=efficiency,
        price_usd=actual - budget - more,
    )
