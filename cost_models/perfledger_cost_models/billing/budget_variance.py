"""Splits the difference between a quarter's budget and its actual cost by cause."""

from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.money import CENT


class BudgetVarianceError(ValueError):
    """An error for hours or money that cannot be compared with a budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedQuarter:
    """The next quarter as a review expects it: the budget of the next review."""

    quarter: str
    hours: Decimal  # all of the accelerator's, owned and committed hours included
    usd: Decimal | None  # None if the cost of the supply is unknown
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetVariance:
    """Why a quarter cost more (> 0) or less than planned; the parts sum to the cent.

    `efficiency_usd` is the effect of code that got slower or faster; None if that was not measured,
    in which case it is part of the volume.
    """

    budget_usd: Decimal
    actual_usd: Decimal
    volume_usd: Decimal
    efficiency_usd: Decimal | None
    price_usd: Decimal


def budget_variance(
    *,
    budget_usd: Decimal,
    budget_hours: Decimal,
    actual_usd: Decimal,
    actual_hours: Decimal,
    efficiency_hours: Decimal | None,
) -> BudgetVariance:
    """Split actual - budget into volume, efficiency and price.

    Hours above or below plan count at the planned rate; `efficiency_hours` of them are due to code.
    The remainder is the change of the rate over the actual hours (flexible budget, e.g. Horngren,
    *Cost Accounting*). Raises BudgetVarianceError without planned hours.
    """
    if budget_hours <= 0 or actual_hours < 0:
        msg = f"{budget_hours} hours planned and {actual_hours} used give no rate"
        raise BudgetVarianceError(msg)
    rate = budget_usd / budget_hours
    budget, actual = budget_usd.quantize(CENT), actual_usd.quantize(CENT)
    efficiency = None if efficiency_hours is None else (efficiency_hours * rate).quantize(CENT)
    extra_usd = ((actual_hours - budget_hours) * rate).quantize(CENT)
    return BudgetVariance(
        budget_usd=budget,
        actual_usd=actual,
        volume_usd=extra_usd - (efficiency or Decimal(0)),
        efficiency_usd=efficiency,
        price_usd=actual - budget - extra_usd,
    )
