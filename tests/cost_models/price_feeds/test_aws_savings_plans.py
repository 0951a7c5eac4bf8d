from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.price_feeds.aws_savings_plans import COLUMNS, read_aws_savings
from perfledger_cost_models.price_feeds.rows import BulkFileError, FeedOrigin
from perfledger_cost_models.tco.purchase_modes import terms_of

ORIGIN = FeedOrigin(source="the savings plans' price list", retrieved_at=date(2026, 11, 20))
# Written by hand in the shape of a region's index.csv: what stands above the header, and a row.
PREAMBLE = [
    "FormatVersion,v1.0\n",
    "Disclaimer,This pricing list is for informational purposes only.\n",
    "Publication Date,2026-11-11T18:44:47Z\n",
    "Version,20261111184447\n",
    "OfferCode,AmazonComputeSavingsPlan\n",
]
ROW = {
    "SKU": "2JT7C3ZD2AXA73Q4",
    "RateCode": "2JT7C3ZD2AXA73Q4.23PWZ6X8AQE4NKNR",
    "Unit": "Hrs",
    "EffectiveDate": "2026-06-05T18:51:13Z",
    "DiscountedRate": "32.36",
    "Currency": "USD",
    "DiscountedServiceCode": "AmazonEC2",
    "DiscountedUsageType": "BoxUsage:p5.48xlarge",
    "DiscountedOperation": "RunInstances",
    "PurchaseOption": "All Upfront",
    "LeaseContractLength": "1",
    "LeaseContractLengthUnit": "year",
    "Product Family": "EC2InstanceSavingsPlans",
    "DiscountedRegionCode": "us-east-1",
    "DiscountedInstanceType": "p5.48xlarge",
}


def lines(*rows, columns=tuple(ROW)):
    yield from PREAMBLE
    yield ",".join(columns) + "\n"
    for changes in rows:
        yield ",".join((ROW | changes)[name] for name in columns) + "\n"


def read(*rows):
    return read_aws_savings(lines(*rows), origin=ORIGIN)


def test_a_plan_of_a_family_is_the_options_savings_plan():
    (price,) = read({}).prices

    assert (price.option, price.region) == ("p5.48xlarge/savings_plan/1y_all_upfront", "us-east-1")
    assert (price.usd_per_hour, price.as_of) == (Decimal("32.36"), date(2026, 11, 11))
    assert price.note == "in force since 2026-06-05"


def test_a_plan_for_any_instance_stands_beside_it():
    anywhere = {"Product Family": "ComputeSavingsPlans", "DiscountedRate": "36.1"}

    prices = {price.option: price for price in read({}, anywhere).prices}

    dear = prices["p5.48xlarge/savings_plan/1y_all_upfront_compute"]
    assert (len(prices), dear.usd_per_hour) == (2, Decimal("36.1"))
    assert (terms_of(dear).years, terms_of(dear).upfront_share) == (1, Decimal(1))


def test_another_region_writes_its_name_before_the_usage():
    row = {"DiscountedRegionCode": "eu-north-1", "DiscountedUsageType": "EUN1-BoxUsage:p5.48xlarge"}

    assert [price.region for price in read(row).prices] == ["eu-north-1"]


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("DiscountedUsageType", "DedicatedUsage:p5.48xlarge"),
        ("DiscountedUsageType", "UnusedBox:p5.48xlarge"),
        ("DiscountedUsageType", "HostBoxUsage:p5.48xlarge"),
        ("DiscountedUsageType", "Reservation:p5.48xlarge"),
        ("DiscountedOperation", "RunInstances:0002"),
        ("DiscountedServiceCode", "AWSLambda"),
        ("Product Family", "MachineLearningSavingsPlans"),
        ("Unit", "Lambda-GB-Second"),
        ("Currency", "CNY"),
        ("LeaseContractLengthUnit", "hour"),
        ("DiscountedRate", "free"),
    ],
)
def test_what_is_another_product_is_no_price_of_the_instance(column, other):
    assert read({column: other}).prices == ()


def test_a_file_without_the_columns_says_which():
    rows = lines({}, columns=[name for name in ROW if name != "Product Family"])

    with pytest.raises(BulkFileError, match=r"\['Product Family'\]. Fetch AWSComputeSavingsPlan's"):
        read_aws_savings(rows, origin=ORIGIN)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    with suppress(BulkFileError):
        read_aws_savings([",".join(COLUMNS) + "\n", text], origin=ORIGIN)
