"""A published price and how much it is used into what a useful hour costs, mode by mode.

Some modes are paid for by the hour of use, others for every hour of their term whether used or not:
a committed hour at half use costs twice its rate. Money that is paid up front is worth more than
the same money later: it is spread over the term at the cost of capital.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

import numpy as np

from perfledger_cost_models.finance import capital_recovery_factor
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.sheet import BILLED, Price, PricingModel

# Of a commitment's price, paid before the first hour. AWS's "partial" is about half:
# https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-overview.html
UPFRONT_SHARES = {
    "": Decimal(0),  # committed use and others that are paid month by month
    "no_upfront": Decimal(0),
    "partial_upfront": Decimal("0.5"),
    "all_upfront": Decimal(1),
}

# What is sold of capacity blocks, in days, and how long before its end a block is taken away.
BLOCK_DAYS: tuple[int, ...] = (*range(1, 15), *range(21, 183, 7))
BLOCK_END_HOURS = 0.5

# A savings plan for any instance anywhere is "compute"; others hold for the option's own.
_TERM = re.compile(r"(?P<years>[1-5])y(?:_(?P<payment>(?:no|partial|all)_upfront))?(?:_compute)?")


class PurchaseError(ValueError):
    """A use or a term for which a mode has no price."""


class Payment(StrEnum):
    """For which hours a mode is paid."""

    USED = "used"
    TERM = "term"  # every hour that was committed to


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way to buy an accelerator's hours; USD per accelerator."""

    option: str
    payment: Payment
    usd_per_hour: Decimal  # as published: upfront money spread evenly, without interest
    years: int = 0  # of a commitment; 0 where there is none
    upfront_share: Decimal = Decimal(0)

    def usd_per_useful_hour(self, use: float, *, wacc: float = 0.0) -> Decimal:
        """Return what an hour of useful work costs when `use` of the hours paid for are useful.

        `wacc` is the cost of capital a year, for what is paid up front: an upfront U over n years
        costs U crf(wacc, n) / 8760 an hour. What is paid by use costs the same at any use. Raises
        PurchaseError for a use that is not above 0 and up to 1.
        """
        if not 0 < use <= 1:
            msg = f"a use of {use}: give the share of hours that are useful, above 0 and up to 1"
            raise PurchaseError(msg)
        match self.payment:
            case Payment.USED:
                return self.usd_per_hour
            case Payment.TERM:
                return self.committed_usd_per_hour(wacc=wacc) / to_decimal(use)
            case _ as unreachable:
                assert_never(unreachable)

    def committed_usd_per_hour(self, *, wacc: float) -> Decimal:
        """Return the price of each hour of the term, with the interest on what is paid up front."""
        if self.years == 0 or self.upfront_share == 0:
            return self.usd_per_hour
        factor = capital_recovery_factor(np.array([wacc]), np.array([float(self.years)]))
        upfront = self.usd_per_hour * self.upfront_share * self.years * to_decimal(factor[0])
        return upfront + self.usd_per_hour * (1 - self.upfront_share)


def mode_of(price: Price) -> Mode:
    """Return how a published price is paid; raises PurchaseError for a term that cannot be read."""
    used = Mode(option=price.option, payment=Payment.USED, usd_per_hour=price.usd_per_device_hour)
    if price.option_term == BILLED:  # what was paid, by the hours that were used
        return used
    match price.pricing_model:
        case (
            PricingModel.ON_DEMAND
            | PricingModel.SPOT
            | PricingModel.MARKETPLACE
            | PricingModel.MARKET_INDEX
        ):
            return used
        case PricingModel.CAPACITY_BLOCK:
            return Mode(
                option=price.option, payment=Payment.TERM, usd_per_hour=price.usd_per_device_hour
            )
        case PricingModel.SAVINGS_PLAN | PricingModel.RESERVED | PricingModel.COMMITTED_USE:
            found = _TERM.fullmatch(price.option_term)
            if found is None:
                msg = f"{price.option}: the term {price.term!r} is none like 1y or 3y_all_upfront"
                raise PurchaseError(msg)
            return Mode(
                option=price.option,
                payment=Payment.TERM,
                usd_per_hour=price.usd_per_device_hour,
                years=int(found["years"]),
                upfront_share=UPFRONT_SHARES[found["payment"] or ""],
            )
        case _ as unreachable:
            assert_never(unreachable)


def break_even_use(committed: Mode, on_demand: Mode, *, wacc: float = 0.0) -> Decimal | None:
    """Return the use above which the commitment is cheaper; None where it never is.

    u* = committed rate / on-demand rate. Raises PurchaseError unless the first is paid for its term
    and the second by use.
    """
    if (committed.payment, on_demand.payment) != (Payment.TERM, Payment.USED):
        msg = f"{committed.option} against {on_demand.option}: compare a term with pay as you go"
        raise PurchaseError(msg)
    use = committed.committed_usd_per_hour(wacc=wacc) / on_demand.usd_per_hour
    return use if use <= 1 else None


def block_hours(work_hours: float) -> int:
    """Return the hours of the shortest capacity block in which so much work gets done.

    Blocks are sold by the day up to 14 and by the week up to 182 days, and are taken away half an
    hour before they end, so that a day's work needs two days:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html. Raises
    PurchaseError for no work, and for more than the longest block holds.
    """
    needed = work_hours + BLOCK_END_HOURS
    days = next((days for days in BLOCK_DAYS if 24 * days >= needed), None)
    if not work_hours > 0 or days is None:
        most = 24 * BLOCK_DAYS[-1] - BLOCK_END_HOURS
        msg = f"{work_hours} hours of work are in no block: give above 0 and up to {most}"
        raise PurchaseError(msg)
    return 24 * days


def block_usd_per_useful_hour(usd_per_hour: Decimal, work_hours: float) -> Decimal:
    """Return what an hour of so much work costs in the shortest block that holds it.

    It falls as the block fills and jumps where the next one is needed: the cliff. Raises
    PurchaseError as `block_hours` does.
    """
    return block_usd_per_hour(usd_per_hour * block_hours(work_hours), work_hours)


def block_usd_per_hour(fee_usd: Decimal, used_hours: float) -> Decimal:
    """Return what an hour that was used of a prepaid block costs: fee / hours used.

    Raises PurchaseError for no hours: what was never used has no price per hour.
    """
    if not used_hours > 0:
        msg = f"{used_hours} hours of a block were used: there is no price for an hour of it"
        raise PurchaseError(msg)
    return fee_usd / to_decimal(used_hours)
