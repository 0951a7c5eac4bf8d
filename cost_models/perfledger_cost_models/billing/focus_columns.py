"""Holds the columns that are read of a FOCUS bill (1.0 to 1.4) or of AWS's CUR 2.0."""

from collections.abc import Mapping, Sequence

from perfledger_cost_models.billing.cur2 import (
    LEGACY_COLUMN,
    OPTIONAL as CUR2_OPTIONAL,
    REQUIRED as CUR2_REQUIRED,
    is_cur2,
)

COLUMNS = (
    "BillingCurrency",
    "BilledCost",
    "ChargeCategory",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "EffectiveCost",
    "PricingQuantity",
    "PricingUnit",
)
# The provider of the resources: the column since 1.3, and that until 1.2, which names the
# marketplace of a product bought there.
PROVIDER_COLUMNS = ("ServiceProviderName", "ProviderName")
# Columns that FOCUS requires only conditionally, leaves to the provider, or that are optional here.
# Some only distinguish rows of one resource and hour, such as those of two commitments.
OPTIONAL = (
    *PROVIDER_COLUMNS,
    "AllocatedTags",
    "CapacityReservationStatus",
    "ChargeClass",
    "ChargeDescription",
    "CommitmentDiscountId",
    "CommitmentDiscountStatus",
    "CommitmentDiscountType",
    "ContractedCost",
    "ListCost",
    "PricingCategory",
    "RegionId",
    "ResourceId",
    "ResourceType",
    "ServiceName",
    "SkuMeter",
    "SkuPriceDetails",
    "SkuPriceId",
    "SubAccountId",
    "SubAccountName",
    "Tags",
    "x_CapacityReservationType",
    "x_InstanceType",
    "x_Operation",
    "x_UsageType",
)
# The other datasets of FOCUS 1.3 and 1.4, by a column that no Cost and Usage has.
_OTHER_DATASETS = {
    "ContractCommitmentCategory": "Contract Commitment",
    "BillingPeriodStatus": "Billing Period",
    "InvoiceDetailLastUpdated": "Invoice Detail",
}


class BillError(ValueError):
    """An error for a file that is not a bill, or a bill in another currency."""


def column_places(header: Sequence[str]) -> Mapping[str, int]:
    """Return the place of each column that is read; raise BillError for no or another dataset."""
    places = {name: index for index, name in enumerate(header)}
    required, optional = (CUR2_REQUIRED, CUR2_OPTIONAL) if is_cur2(header) else (COLUMNS, OPTIONAL)
    missing = [name for name in required if name not in places]
    if required is COLUMNS and not set(PROVIDER_COLUMNS) & set(header):
        missing.append(" or ".join(PROVIDER_COLUMNS))
    if missing:
        datasets = [name for column, name in _OTHER_DATASETS.items() if column in places]
        dataset = f" and is its dataset {datasets[0]}" if datasets else ""
        report = "CUR 2.0's" if is_cur2(header) else "FOCUS's"
        if LEGACY_COLUMN in places:
            dataset = " and is AWS's older Cost and Usage Report"
        msg = (
            f"the bill lacks {report} columns {missing}{dataset}: export Cost and Usage as FOCUS "
            "1.0 to 1.4 or as AWS's CUR 2.0"
        )
        raise BillError(msg)
    read = [name for name in (*required, *optional) if name in places]
    twice = [name for name in read if header.count(name) > 1]
    if twice:
        msg = f"the bill has the column {twice[0]} twice, and only one would count: remove one"
        raise BillError(msg)
    return {name: places[name] for name in read}
