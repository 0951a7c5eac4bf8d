"""Writes an allocation as FOCUS rows, one for each owner and part, that sum to the bill.

FinOps Open Cost and Usage Specification 1.2, https://focus.finops.org/focus-specification/v1-2/,
with the columns of split cost allocation of 1.3. Columns outside the specification begin with `x_`.
Unit prices and SKU ids are only in the original charges.
"""

import json
from decimal import Decimal

from perfledger_cost_models.billing.cost_allocation import (
    NO_USD,
    UNALLOCATED,
    AllocationRow,
    BillPart,
    share_out,
)
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.csv_table import csv_text
from perfledger_cost_models.units import USD
from perfledger_service.rendering.fleet.allocate import team_label
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, cell, clean

COLUMNS = (
    "AllocatedMethodDetails",
    "AllocatedMethodId",
    "AllocatedResourceId",
    "AllocatedResourceName",
    "AllocatedTags",
    "BilledCost",
    "BillingAccountId",
    "BillingAccountName",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargeClass",
    "ChargeDescription",
    "ChargeFrequency",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ConsumedQuantity",
    "ConsumedUnit",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceId",
    "InvoiceIssuerName",
    "ListCost",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "RegionId",
    "ServiceCategory",
    "ServiceName",
    "ServiceSubcategory",
    "SubAccountId",
    "SubAccountName",
    "Tags",
    "x_AllocationPart",
    "x_Project",
    "x_Quarter",
)
PROVIDER = "perfledger allocation"  # the bill names the providers of the original charges
SERVICE = "Accelerators"


def allocation_focus(allocation: CostAllocation, *, quarter: str = "") -> str:
    """Return the rows as CSV; each of the four cost columns sums to the bill's, to the cent."""
    parts = [
        (row, part, usd)
        for row in allocation.rows
        for part in BillPart
        if (usd := row.usd_of(part))
    ]
    # A bill without any shares may still have been invoiced.
    parts = parts or [(_nobody(), BillPart.OVERHEAD, NO_USD)]
    weights = {str(index): abs(usd) for index, (_, _, usd) in enumerate(parts)}
    costs = {
        name: share_out(total, weights, rest="0")
        for name, total in (
            ("BilledCost", allocation.billed_usd),
            ("ContractedCost", allocation.contracted_usd),
            ("ListCost", allocation.list_usd),
        )
    }
    rows = [
        {
            **_same_in_all(allocation, quarter),
            **_owner(row),
            **{name: usd_of.get(str(index), NO_USD) for name, usd_of in costs.items()},
            "AllocatedMethodDetails": _method(row, part, usd, allocation.effective_usd),
            "AllocatedMethodId": f"perfledger-{part}",
            "ChargeDescription": f"{part} cost of accelerators",
            "ConsumedQuantity": _quantity(row, part),
            "EffectiveCost": usd,
            "PricingQuantity": _quantity(row, part),
            "x_AllocationPart": part,
        }
        for index, (row, part, usd) in enumerate(parts)
    ]
    return csv_text(COLUMNS, rows)


def _same_in_all(allocation: CostAllocation, quarter: str) -> dict[str, str]:
    start, end = (f"{day}T00:00:00Z" for day in (allocation.start, allocation.end))
    return {
        "BillingAccountId": PROVIDER,
        "BillingAccountName": PROVIDER,
        "BillingCurrency": USD,
        "BillingPeriodEnd": end,
        "BillingPeriodStart": start,
        "ChargeCategory": "Usage",
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodEnd": end,
        "ChargePeriodStart": start,
        "ConsumedUnit": "Hours",
        "InvoiceIssuerName": PROVIDER,
        "PricingCategory": "Other",
        "PricingUnit": "Hours",
        "ProviderName": PROVIDER,
        "PublisherName": PROVIDER,
        "ServiceCategory": "Compute",
        "ServiceName": SERVICE,
        "ServiceSubcategory": "Other (Compute)",
        "x_Quarter": quarter,
    }


def _owner(row: AllocationRow) -> dict[str, str]:
    """Return the owner of a row as a resource; the specification has none for cost without one."""
    team, project = _cell(team_label(row)), _cell(row.project) if row.project else ""
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


def _method(row: AllocationRow, part: BillPart, usd: Decimal, total: Decimal) -> str:
    """Return the share of the bill and its basis, as FOCUS 1.3 writes them."""
    element: dict[str, object] = {"AllocatedRatio": float(usd / total) if total else 0.0}
    if part is BillPart.DIRECT:
        element |= {"UsageUnit": "Hours", "UsageQuantity": float(row.hours)}
    return json.dumps({"Elements": [element]})


def _quantity(row: AllocationRow, part: BillPart) -> str:
    """Return hours with a decimal point; otherwise readers infer a column of integers."""
    text = f"{row.hours:f}" if part is BillPart.DIRECT else "0"
    return text if "." in text else f"{text}.0"


def _nobody() -> AllocationRow:
    return AllocationRow(
        team=UNALLOCATED, hours=Decimal(0), direct_usd=NO_USD, idle_usd=NO_USD, overhead_usd=NO_USD
    )


def _cell(name: str) -> str:
    return cell(clean(name, limit=MAX_LONG_NAME))
