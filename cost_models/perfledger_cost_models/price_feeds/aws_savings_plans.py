"""Reads AWS's price list of Compute Savings Plans in CSV: shared tenancy, Linux, by plan and term.

The price list of EC2 has no savings plans. An instance has a price under both plans: the one that
is limited to its family and region, which is the default of an option, and the more expensive one
for any instance anywhere, whose term ends in "compute". A rate counts against the hourly
commitment, whenever that is paid: fully prepaid rates do not look cheaper. Format:
https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-savings-plans.html
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from perfledger_cost_models.price_feeds.aws_csv import open_aws, usd_of
from perfledger_cost_models.price_feeds.rows import (
    BulkPrices,
    FeedOffer,
    FeedOrigin,
    day_of,
    prices_of,
)
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.units import USD

# The offer code in the fifth line of the file.
OFFER_CODE = "AmazonComputeSavingsPlan"
COLUMNS = (
    "SKU",
    "Unit",
    "EffectiveDate",
    "DiscountedRate",
    "Currency",
    "DiscountedServiceCode",
    "DiscountedUsageType",
    "DiscountedOperation",
    "PurchaseOption",
    "LeaseContractLength",
    "LeaseContractLengthUnit",
    "Product Family",
    "DiscountedRegionCode",
    "DiscountedInstanceType",
)
# The suffix of a plan's term.
PLANS = {"EC2InstanceSavingsPlans": "", "ComputeSavingsPlans": "_compute"}
# The file also lists each instance as dedicated, on a dedicated host, as an unused reservation and
# under every other operating system ("RunInstances:0002" is Windows).
ROW_FILTER = {
    "DiscountedServiceCode": "AmazonEC2",
    "DiscountedOperation": "RunInstances",
    "Unit": "Hrs",
    "Currency": USD,
    "LeaseContractLengthUnit": "year",
}
_SHARED = re.compile(r"(?:[A-Z0-9]+-)?BoxUsage:.+")  # "BoxUsage:p5.48xlarge", "EUN1-BoxUsage:..."


def read_aws_savings(lines: Iterable[str], *, origin: FeedOrigin) -> BulkPrices:
    """Read a region's file line by line; raise BulkFileError for a file of another kind."""
    file = open_aws(lines, columns=COLUMNS, name="AWSComputeSavingsPlan")
    return prices_of("aws", _offers(file.rows), origin=replace(origin, published=file.published))


def _offers(rows: Iterable[Mapping[str, str]]) -> Iterator[FeedOffer]:
    for cells in rows:
        usd, plan = usd_of(cells["DiscountedRate"]), PLANS.get(cells["Product Family"])
        is_other = any(cells[name] != value for name, value in ROW_FILTER.items())
        if usd is None or plan is None or is_other:
            continue
        if _SHARED.fullmatch(cells["DiscountedUsageType"]) is None:
            continue
        payment = cells["PurchaseOption"].lower().replace(" ", "_")
        yield FeedOffer(
            sku=cells["DiscountedInstanceType"],
            region=cells["DiscountedRegionCode"],
            model=PricingModel.SAVINGS_PLAN,
            usd_per_hour=usd,
            since=day_of(cells["EffectiveDate"]),
            term=f"{cells['LeaseContractLength']}y_{payment}{plan}",
        )
