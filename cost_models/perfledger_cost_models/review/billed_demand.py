"""Says how much of a quarter a bill covers, and what it has besides the reviewed accelerator."""

from decimal import Decimal

from perfledger_cost_models.billing.focus import Bill
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.procurement.plan import PlannedDemand, ProcurementPlanError
from perfledger_cost_models.review.demand_and_spend import billed_days, billed_usd
from perfledger_cost_models.review.document import BilledDemand
from perfledger_cost_models.review.quarter import Quarter

# February: fewer days lack a part of each month, and as many without usage a month's export.
MIN_BILL_DAYS = 28


def billed_demand(
    bill: Bill | None, demand: PlannedDemand, quarter: Quarter, *, bill_name: str
) -> BilledDemand | None:
    """Return what a bill covers, None without one.

    Raises ProcurementPlanError if a year's hours would be those of fewer than MIN_BILL_DAYS days.
    """
    if bill is None:
        return None
    days = billed_days(bill)
    problem = ""
    if days < MIN_BILL_DAYS:
        problem = (
            f"covers {bill.start.date()} to {bill.end.date()}, fewer than {MIN_BILL_DAYS} days"
        )
    elif bill.gap is not None and (bill.gap[1] - bill.gap[0]).days + 1 >= MIN_BILL_DAYS:
        problem = f"has no usage from {bill.gap[0]} to {bill.gap[1]}"
    if problem and demand.hours is None:
        msg = (
            f"{bill_name} {problem}, from which no year's hours follow: export all of "
            f"{quarter.name}, or give hours to [demand]"
        )
        raise ProcurementPlanError(msg)
    names = {known_instances(one.provider)[one.sku].accelerator for one in bill.usage}
    usd = {
        name: billed_usd(bill, name) + bill.unused.get(name, Decimal(0))
        for name in sorted({*names, *bill.unused})
    }
    usd.pop(demand.accelerator, None)
    return BilledDemand(
        days=days,
        quarter_days=quarter.days,
        gap=bill.gap,
        are_hours_billed=demand.hours is None,
        accelerators_usd=usd,
        rest_usd=bill.other_usd,
    )
