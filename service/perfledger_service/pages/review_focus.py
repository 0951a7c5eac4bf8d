"""Turns a review's allocation into FOCUS rows, one for each team and part, that sum to the bill.

FinOps Open Cost and Usage Specification 1.2, https://focus.finops.org/focus-specification/v1-2/.
What the specification has no column for begins with `x_`.
"""

import csv
from decimal import Decimal
from io import StringIO

from perfledger_cost_models.allocation import Row, share_out
from perfledger_cost_models.review import Allocation, Review
from perfledger_service.pages.escape import cell, clean

COLUMNS = (
    "BilledCost",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeDescription",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "EffectiveCost",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "RegionId",
    "ServiceCategory",
    "SubAccountId",
    "SubAccountName",
    "x_AllocationPart",
    "x_Quarter",
)
PROVIDER = "perfledger allocation"  # the origin charges' providers are in the bill itself
MAX_NAME = 200
PARTS = ("direct", "idle", "overhead")


def review_focus(review: Review, allocation: Allocation) -> str:
    """Return the rows as CSV; EffectiveCost and BilledCost each sum to the bill's, in cents."""
    parts = [
        (row.team, part, usd)
        for row in allocation.rows
        for part, usd in zip(PARTS, _parts(row), strict=True)
        if usd
    ]
    weights = {f"{team}/{part}": abs(usd) for team, part, usd in parts}
    billed = share_out(allocation.billed_usd, weights)
    hours = dict(allocation.hours)
    text = StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for team, part, usd in parts:
        shown = cell(clean(team, limit=MAX_NAME))
        writer.writerow(
            {
                "BilledCost": billed.get(f"{team}/{part}", Decimal(0)),
                "BillingCurrency": "USD",
                "BillingPeriodEnd": f"{allocation.end}T00:00:00Z",
                "BillingPeriodStart": f"{allocation.start}T00:00:00Z",
                "ChargeCategory": "Usage",
                "ChargeDescription": f"{part} cost of accelerators",
                "ChargePeriodEnd": f"{allocation.end}T00:00:00Z",
                "ChargePeriodStart": f"{allocation.start}T00:00:00Z",
                "EffectiveCost": usd,
                "PricingCategory": "Other",
                "PricingQuantity": hours.get(team, Decimal(0)) if part == "direct" else Decimal(0),
                "PricingUnit": "Hours",
                "ProviderName": PROVIDER,
                "RegionId": "",
                "ServiceCategory": "Compute",
                "SubAccountId": shown,
                "SubAccountName": shown,
                "x_AllocationPart": part,
                "x_Quarter": review.quarter.name,
            }
        )
    return text.getvalue()


def _parts(row: Row) -> tuple[Decimal, Decimal, Decimal]:
    return row.direct_usd, row.idle_usd, row.overhead_usd
