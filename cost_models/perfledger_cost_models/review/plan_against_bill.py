"""Checks a plan's hours and supply against a bill: if the two differ, nothing is decided."""

from collections.abc import Sequence
from decimal import Decimal

from perfledger.rounding import digits, integer
from perfledger.time_units import DAYS_PER_YEAR, HOURS_PER_DAY
from perfledger_cost_models.billing.focus import Bill
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.procurement.hour_shares import (
    MAX_DIFFERENCE,
    HourShare,
    HourShares,
    ShareStatement,
)
from perfledger_cost_models.procurement.owned_supply import SupplyYears
from perfledger_cost_models.procurement.plan import (
    HoursKind,
    InputRange,
    PlannedDemand,
    ProcurementPlanError,
)
from perfledger_cost_models.review.demand_and_spend import billed_days, billed_hours
from perfledger_cost_models.tco.purchase_modes import is_committed


class PlanContradictionError(ProcurementPlanError):
    """An error for a plan whose hours or supply a bill contradicts."""


def supply_utilization(
    bill: Bill | None, holdings: Sequence[SupplyYears], *, accelerator: str, bill_name: str
) -> tuple[ShareStatement, ...]:
    """Return how much of the supply's committed hours the bill used; none without such hours.

    The bill itself gives the same share by cost, so a typing error in the supply, or a bill that
    counts twice, shows as a contradiction. Raises PlanContradictionError for committed hours in the
    bill and no committed supply in its period. Capacity blocks are not supply.
    """
    if bill is None:
        return ()
    used = _committed_hours(bill, accelerator)
    start, end = bill.start.date(), bill.end.date()
    devices = sum(
        (
            one.devices * one.share_of(start, end)
            for one in holdings
            if one.accelerator == accelerator and not one.is_owned
        ),
        Decimal(0),
    )
    supplied = devices * billed_days(bill) * HOURS_PER_DAY
    if not supplied and not used:
        return ()
    source = f"{bill_name} / [[supply]] of the plan: committed hours used / those of its devices"
    if not supplied:
        msg = (
            f"{bill_name} has {integer(used)} committed {accelerator} hours from {start} to "
            f"{end}, and the plan has no committed [[supply]] in these days: add it, with its "
            "last day"
        )
        raise PlanContradictionError(msg)
    share = used / supplied
    return (
        ShareStatement(
            share=HourShare.COMMITMENT_UTILIZATION,
            range=InputRange(
                low=share, mode=share, high=share, source=source, basis="measured", as_of=end
            ),
            counts=f"{integer(used)} of the {integer(supplied)} hours that the supply's "
            f"{digits(devices, 4)} {accelerator} devices have in the bill's days were used",
        ),
    )


def check_planned_hours(
    demand: PlannedDemand,
    bill: Bill | None,
    holdings: Sequence[SupplyYears],
    shares: HourShares,
    *,
    bill_name: str,
) -> None:
    """Raise PlanContradictionError if the plan's hours differ from those of the bill.

    A range that contains the bill's hours does not differ. Owned devices are on no bill: the plan
    may include their hours besides. Paid hours are compared; a bill without the accelerator proves
    nothing.
    """
    if bill is None or demand.hours is None:
        return
    billed = billed_hours(bill, demand.accelerator) * DAYS_PER_YEAR / billed_days(bill)
    if not billed:
        return
    divisor = Decimal(1)
    if demand.hours_kind is not HoursKind.PAID:
        divisor *= shares.required(HourShare.ALLOCATED).mode
    if demand.hours_kind is HoursKind.BUSY:
        divisor *= shares.required(HourShare.BUSY).mode
    low, mode, high = (
        each / divisor for each in (demand.hours.low, demand.hours.mode, demand.hours.high)
    )
    owned = sum(
        (
            one.hours_a_year
            for one in holdings
            if one.is_owned and one.accelerator == demand.accelerator
        ),
        Decimal(0),
    )
    if high >= billed * (1 - MAX_DIFFERENCE) and low <= (billed + owned) * (1 + MAX_DIFFERENCE):
        return
    besides = f" and {integer(owned)} of owned devices" if owned else ""
    msg = (
        f"the paid {demand.accelerator} hours a year are {integer(mode)} by "
        f"{demand.hours.source!r} and {integer(billed)} by {bill_name!r}{besides}: nothing is "
        f"decided while two sources differ by more than {integer(100 * MAX_DIFFERENCE)} %; "
        "correct one, remove the plan's, or give its hours as a range that has the bill's in it"
    )
    raise PlanContradictionError(msg)


def _committed_hours(bill: Bill, accelerator: str) -> Decimal:
    """Return an accelerator's hours that a commitment of a term covered."""
    total = Decimal(0)
    for one in bill.usage:
        instance = known_instances(one.provider)[one.sku]
        is_term = is_committed(one.model) and one.model is not PricingModel.CAPACITY_BLOCK
        if is_term and instance.accelerator == accelerator:
            total += one.instance_hours * instance.count
    return total
