"""AWS's price list of Compute Savings Plans in CSV into prices: shared, Linux, by plan and term.

Savings plans are not in the price list of EC2. Of both plans an instance has a price: one that
holds for its family in its region alone, as the option does that it is filed under, and one for any
instance anywhere, which is dearer and whose term ends in "compute". A rate counts against the
hourly commitment, whenever that is paid: wholly prepaid ones are no cheaper to read. Format:
https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file-for-savings-plans.html
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from perfledger_cost_models.aws_file import open_aws, usd_of
from perfledger_cost_models.bulk import BulkPrices, Offer, Origin, day_of, prices_of
from perfledger_cost_models.sheet import PricingModel

# By which the file says what it is, in its fifth line.
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
# What a plan's term ends in.
PLANS = {"EC2InstanceSavingsPlans": "", "ComputeSavingsPlans": "_compute"}
# The same instance is there dedicated, on a host of one's own, as an unused reservation and under
# every other operating system ("RunInstances:0002" is Windows).
WANTED = {
    "DiscountedServiceCode": "AmazonEC2",
    "DiscountedOperation": "RunInstances",
    "Unit": "Hrs",
    "Currency": "USD",
    "LeaseContractLengthUnit": "year",
}
_SHARED = re.compile(r"(?:[A-Z0-9]+-)?BoxUsage:.+")  # "BoxUsage:p5.48xlarge", "EUN1-BoxUsage:..."


def read_aws_savings(lines: Iterable[str], *, origin: Origin) -> BulkPrices:
    """Read a region's file line by line; raises BulkFileError for what is none."""
    file = open_aws(lines, columns=COLUMNS, name="AWSComputeSavingsPlan")
    return prices_of("aws", _offers(file.rows), origin=replace(origin, published=file.published))


def _offers(rows: Iterable[Mapping[str, str]]) -> Iterator[Offer]:
    for cells in rows:
        usd, plan = usd_of(cells["DiscountedRate"]), PLANS.get(cells["Product Family"])
        is_other = any(cells[name] != value for name, value in WANTED.items())
        if usd is None or plan is None or is_other:
            continue
        if _SHARED.fullmatch(cells["DiscountedUsageType"]) is None:
            continue
        payment = cells["PurchaseOption"].lower().replace(" ", "_")
        yield Offer(
            sku=cells["DiscountedInstanceType"],
            region=cells["DiscountedRegionCode"],
            model=PricingModel.SAVINGS_PLAN,
            usd_per_hour=usd,
            since=day_of(cells["EffectiveDate"]),
            term=f"{cells['LeaseContractLength']}y_{payment}{plan}",
        )
