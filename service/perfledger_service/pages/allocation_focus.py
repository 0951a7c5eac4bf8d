"""Turns an allocation into FOCUS rows, one for each holder and part, that sum to the bill.

FinOps Open Cost and Usage Specification 1.2, https://focus.finops.org/focus-specification/v1-2/,
with the columns of split cost allocation of 1.3. What the specification has no column for begins
with `x_`. ListCost and ContractedCost are not there: what is shared out is what was paid.
"""

import csv
import json
from decimal import Decimal
from io import StringIO

from perfledger_cost_models.allocation import UNALLOCATED, Part, Row, share_out
from perfledger_cost_models.showback import Allocation
from perfledger_service.pages.allocated import team_words
from perfledger_service.pages.escape import cell, clean

COLUMNS = (
    "AllocatedMethodDetails",
    "AllocatedMethodId",
    "AllocatedResourceId",
    "AllocatedResourceName",
    "AllocatedTags",
    "BilledCost",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
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
    "Tags",
    "x_AllocationPart",
    "x_Project",
    "x_Quarter",
)
PROVIDER = "perfledger allocation"  # the origin charges' providers are in the bill itself
_MAX_NAME = 200


def allocation_focus(allocation: Allocation, *, quarter: str = "") -> str:
    """Return the rows as CSV; EffectiveCost and BilledCost each sum to the bill's, in cents."""
    parts = [
        (row, part, usd) for row in allocation.rows for part in Part if (usd := row.usd_of(part))
    ]
    # A bill that nobody pays anything of may still have been invoiced.
    parts = parts or [(_nobody(), Part.OVERHEAD, Decimal(0))]
    weights = {str(place): abs(usd) for place, (_, _, usd) in enumerate(parts)}
    billed = share_out(allocation.billed_usd, weights, rest="0")
    text = StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for place, (row, part, usd) in enumerate(parts):
        writer.writerow(
            {
                **_holder(row),
                "AllocatedMethodDetails": _method(row, part, usd, allocation.effective_usd),
                "AllocatedMethodId": f"perfledger-{part}",
                "BilledCost": billed.get(str(place), Decimal(0)),
                "BillingCurrency": "USD",
                "BillingPeriodEnd": f"{allocation.end}T00:00:00Z",
                "BillingPeriodStart": f"{allocation.start}T00:00:00Z",
                "ChargeCategory": "Usage",
                "ChargeDescription": f"{part} cost of accelerators",
                "ChargeFrequency": "Usage-Based",
                "ChargePeriodEnd": f"{allocation.end}T00:00:00Z",
                "ChargePeriodStart": f"{allocation.start}T00:00:00Z",
                "EffectiveCost": usd,
                "PricingCategory": "Other",
                "PricingQuantity": f"{_hours(row, part):f}",
                "PricingUnit": "Hours",
                "ProviderName": PROVIDER,
                "ServiceCategory": "Compute",
                "x_AllocationPart": part,
                "x_Quarter": quarter,
            }
        )
    return text.getvalue()


def _holder(row: Row) -> dict[str, str]:
    """Return who the row is of; the specification has no resource for what nobody pays."""
    team, project = _cell(team_words(row)), _cell(row.project)
    named = {"team": _cell(row.team) if row.team else "", "project": project}
    tags = json.dumps({key: value for key, value in named.items() if value})
    is_paid = row.team != UNALLOCATED
    name = "/".join(filter(None, (team, project)))
    return {
        "AllocatedResourceId": name if is_paid else "",
        "AllocatedResourceName": name if is_paid else "",
        "AllocatedTags": tags if is_paid else "{}",
        "SubAccountId": team,
        "SubAccountName": team,
        "Tags": tags if is_paid else "{}",
        "x_Project": project,
    }


def _method(row: Row, part: Part, usd: Decimal, whole: Decimal) -> str:
    """Return the share of the bill and what it was worked out by, as FOCUS 1.3 writes them."""
    element: dict[str, object] = {"AllocatedRatio": float(usd / whole) if whole else 0.0}
    if part is Part.DIRECT:
        element |= {"UsageUnit": "Hours", "UsageQuantity": float(row.hours)}
    return json.dumps({"Elements": [element]})


def _hours(row: Row, part: Part) -> Decimal:
    return row.hours if part is Part.DIRECT else Decimal(0)


def _nobody() -> Row:
    nothing = Decimal(0)
    return Row(
        team=UNALLOCATED, hours=nothing, direct_usd=nothing, idle_usd=nothing, overhead_usd=nothing
    )


def _cell(name: str) -> str:
    return cell(clean(name, limit=_MAX_NAME))
