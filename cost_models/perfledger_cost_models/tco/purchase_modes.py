"""Computes what a useful hour costs by purchase mode and use.

Some modes are paid by the hour of use, others for every hour of their term, used or not: a
committed hour at half use costs twice its rate. Money paid upfront is worth more than the same
money later, so it is spread over the term at the cost of capital.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

import numpy as np

from perfledger.time_units import HOURS_PER_DAY
from perfledger_cost_models.discounting import capital_recovery_factor
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.price_sheet import BILLED_TERM, Price, PricingModel

# The share of a commitment's price that is paid upfront. AWS's "partial" is about half:
# https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-overview.html
UPFRONT_SHARES = {
    "": Decimal(0),  # committed use and others that are paid monthly
    "no_upfront": Decimal(0),
    "partial_upfront": Decimal("0.5"),
    "all_upfront": Decimal(1),
}

# The lengths of capacity blocks in days, and how long before its end a block is reclaimed.
BLOCK_DAYS: tuple[int, ...] = (*range(1, 15), *range(21, 183, 7))
BLOCK_END_HOURS = 0.5  # AWS ends instances of a capacity block so long before its end

# A savings plan for any instance anywhere is "compute"; others apply to the option's own instance.
_TERM = re.compile(r"(?P<years>[1-5])y(?:_(?P<payment>(?:no|partial|all)_upfront))?(?:_compute)?")


class PurchaseError(ValueError):
    """An error for a use or a term that has no price in a purchase mode."""


class Payment(StrEnum):
    """The hours that a purchase mode charges for."""

    USED = "used"
    TERM = "term"  # every committed hour


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseTerms:
    """How an accelerator's hours are bought; USD per accelerator."""

    option: str
    payment: Payment
    usd_per_hour: Decimal  # as published: upfront money spread evenly, without interest
    years: int = 0  # of a commitment; 0 if there is none
    upfront_share: Decimal = Decimal(0)

    def usd_per_useful_hour(self, use: float, *, wacc: float = 0.0) -> Decimal:
        """Return the cost of an hour of useful work when `use` of the hours paid for are useful.

        `wacc` is the yearly cost of capital for upfront payments: an upfront U over n years costs U
        crf(wacc, n) / 8760 an hour, as if it were billed by the month like the others. Hours paid
        by use cost the same at any use. Raises PurchaseError for a use that is not above 0 and up
        to 1.
        """
        if not 0 < use <= 1:
            msg = f"use {use} is not a share of useful hours above 0 and up to 1"
            raise PurchaseError(msg)
        match self.payment:
            case Payment.USED:
                return self.usd_per_hour
            case Payment.TERM:
                return self.committed_usd_per_hour(wacc=wacc) / to_decimal(use)
            case _ as unreachable:
                assert_never(unreachable)

    def committed_usd_per_hour(self, *, wacc: float) -> Decimal:
        """Return the price of each hour of the term, with the interest on upfront payments."""
        if self.years == 0 or self.upfront_share == 0:
            return self.usd_per_hour
        factor = capital_recovery_factor(np.array([wacc]), np.array([float(self.years)]))
        upfront = self.usd_per_hour * self.upfront_share * self.years * to_decimal(factor[0])
        return upfront + self.usd_per_hour * (1 - self.upfront_share)


def is_committed(model: PricingModel) -> bool:
    """Return whether hours of a pricing model are paid for regardless of use.

    A bill's price of such an hour counts, too: what was billed was committed to.
    """
    match model:
        case (
            PricingModel.SAVINGS_PLAN
            | PricingModel.RESERVED
            | PricingModel.COMMITTED_USE
            | PricingModel.CAPACITY_BLOCK
        ):
            return True
        case (
            PricingModel.ON_DEMAND
            | PricingModel.SPOT
            | PricingModel.MARKETPLACE
            | PricingModel.MARKET_INDEX
        ):
            return False
        case _ as unreachable:
            assert_never(unreachable)


def terms_of(price: Price) -> PurchaseTerms:
    """Return how a published price is paid; raise PurchaseError for a term that cannot be read."""
    pay_as_you_go = PurchaseTerms(
        option=price.option, payment=Payment.USED, usd_per_hour=price.usd_per_device_hour
    )
    if price.option_term == BILLED_TERM:  # what was paid, divided by the hours used
        return pay_as_you_go
    match price.pricing_model:
        case (
            PricingModel.ON_DEMAND
            | PricingModel.SPOT
            | PricingModel.MARKETPLACE
            | PricingModel.MARKET_INDEX
        ):
            return pay_as_you_go
        case PricingModel.CAPACITY_BLOCK:
            return PurchaseTerms(
                option=price.option, payment=Payment.TERM, usd_per_hour=price.usd_per_device_hour
            )
        case PricingModel.SAVINGS_PLAN | PricingModel.RESERVED | PricingModel.COMMITTED_USE:
            match = _TERM.fullmatch(price.option_term)
            if match is None:
                msg = f"{price.option}: the term {price.term!r} is not like 1y or 3y_all_upfront"
                raise PurchaseError(msg)
            return PurchaseTerms(
                option=price.option,
                payment=Payment.TERM,
                usd_per_hour=price.usd_per_device_hour,
                years=int(match["years"]),
                upfront_share=UPFRONT_SHARES[match["payment"] or ""],
            )
        case _ as unreachable:
            assert_never(unreachable)


def block_hours(work_hours: float) -> int:
    """Return the hours of the shortest capacity block that holds this much work.

    Blocks are sold by the day up to 14 and by the week up to 182 days, and are reclaimed half an
    hour before they end, so that a day's work needs two days:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html. Raises
    PurchaseError for no work, and for more than the longest block holds.
    """
    total_hours = work_hours + BLOCK_END_HOURS
    days = next((days for days in BLOCK_DAYS if HOURS_PER_DAY * days >= total_hours), None)
    if not work_hours > 0 or days is None:
        max_hours = HOURS_PER_DAY * BLOCK_DAYS[-1] - BLOCK_END_HOURS
        msg = f"no capacity block holds {work_hours} hours of work: give 0 to {max_hours} hours"
        raise PurchaseError(msg)
    return HOURS_PER_DAY * days


def block_usd_per_useful_hour(usd_per_hour: Decimal, work_hours: float) -> Decimal:
    """Return the cost per hour of this much work in the shortest block that holds it.

    It falls as the block fills, and jumps when the next longer block is needed. Raises
    PurchaseError like `block_hours`.
    """
    return block_usd_per_hour(usd_per_hour * block_hours(work_hours), work_hours)


def block_usd_per_hour(fee_usd: Decimal, used_hours: float) -> Decimal:
    """Return the cost per used hour of a prepaid block: fee / hours used.

    Raises PurchaseError for no hours: an unused block has no price per hour.
    """
    if not used_hours > 0:
        msg = f"{used_hours} hours of the block were used: it has no price per hour"
        raise PurchaseError(msg)
    return fee_usd / to_decimal(used_hours)
