import json
from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.price_feeds.aws_on_demand_json import read_aws_json
from perfledger_cost_models.price_feeds.rows import BulkFileError, FeedOrigin
from perfledger_cost_models.prices.price_sheet import PricingModel

ORIGIN = FeedOrigin(source="the EC2 price list", retrieved_at=date(2026, 11, 20))
# Written by hand in the shape of AmazonEC2's index.json: one SKU, on demand and reserved, and the
# same instance as a capacity block at nothing. SKU, code and 21.957642 are those of 2026-07.
SKU, BLOCK = "H7NGEAC6UEHNTKSJ", "ZZZZ"
ATTRIBUTES = {
    "servicecode": "AmazonEC2",
    "instanceType": "p4d.24xlarge",
    "tenancy": "Shared",
    "operatingSystem": "Linux",
    "capacitystatus": "Used",
    "preInstalledSw": "NA",
    "regionCode": "us-east-1",
    "marketoption": "OnDemand",
    "usagetype": "BoxUsage:p4d.24xlarge",
    "vcpu": "96",
}


def term(code, *dimensions, **attributes):
    return {
        "offerTermCode": code,
        "sku": SKU,
        "effectiveDate": "2026-07-01T00:00:00Z",
        "priceDimensions": {
            f"{SKU}.{code}.{unit}": {
                "rateCode": f"{SKU}.{code}.{unit}",
                "unit": unit,
                "pricePerUnit": {"USD": usd},
                "appliesTo": [],
            }
            for unit, usd in dimensions
        },
        "termAttributes": attributes,
    }


FILE = {
    "formatVersion": "v1.0",
    "disclaimer": "This pricing list is for informational purposes only.",
    "offerCode": "AmazonEC2",
    "version": "20260720134430",
    "publicationDate": "2026-07-20T13:44:30Z",
    "products": {
        SKU: {"sku": SKU, "productFamily": "Compute Instance", "attributes": ATTRIBUTES},
        BLOCK: {"sku": BLOCK, "attributes": ATTRIBUTES | {"marketoption": "CapacityBlock"}},
        "STORAGE": {"sku": "STORAGE", "productFamily": "Storage", "attributes": {"volumeType": ""}},
    },
    "terms": {
        "OnDemand": {
            SKU: {f"{SKU}.JRTCKXETXF": term("JRTCKXETXF", ("Hrs", "21.9576420000"))},
            BLOCK: {f"{BLOCK}.JRTCKXETXF": term("JRTCKXETXF", ("Hrs", "0.0000000000"))},
        },
        "Reserved": {
            SKU: {
                f"{SKU}.HU7G6KETJZ": term(
                    "HU7G6KETJZ",
                    ("Hrs", "6.0"),
                    ("Quantity", "52560"),
                    LeaseContractLength="1yr",
                    PurchaseOption="Partial Upfront",
                    OfferingClass="standard",
                )
            }
        },
    },
}


def read(file):
    return read_aws_json(json.dumps(file).encode(), origin=ORIGIN)


def test_prices_on_demand_and_reserved_are_those_of_the_csv_and_a_block_is_not_free():
    prices = {price.pricing_model: price for price in read(FILE).prices}

    assert set(prices) == {PricingModel.ON_DEMAND, PricingModel.RESERVED}
    price = prices[PricingModel.ON_DEMAND]
    assert (price.usd_per_hour, price.region, price.as_of) == (
        Decimal("21.9576420000"),
        "us-east-1",
        date(2026, 7, 20),
    )
    assert prices[PricingModel.RESERVED].option == "p4d.24xlarge/reserved/1y_partial_upfront"
    assert prices[PricingModel.RESERVED].usd_per_hour == 12


def test_a_term_of_a_product_that_is_not_there_is_no_price():
    assert read(FILE | {"products": {}}).prices == ()


def test_another_offer_says_what_to_fetch():
    with pytest.raises(BulkFileError, match=r"AmazonRDS.*AmazonEC2"):
        read(FILE | {"offerCode": "AmazonRDS"})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"\xff{}",
        b'{"offerCode": "AmazonEC2"}',
        b"[" * 100_000,
        json.dumps(FILE | {"terms": []}).encode(),
        json.dumps(FILE | {"products": {"a": 1}}).encode(),
        json.dumps(FILE).encode()[:-300],
    ],
)
def test_a_file_that_cannot_be_read_is_our_error(data):
    with pytest.raises(BulkFileError, match=r"index\.csv"):
        read_aws_json(data, origin=ORIGIN)


@given(st.integers(0, len(json.dumps(FILE)) - 1), st.binary(max_size=4))
def test_no_damage_raises_anything_but_our_error(place, bits):
    data = json.dumps(FILE).encode()

    with suppress(BulkFileError):
        read_aws_json(data[:place] + bits + data[place + len(bits) :], origin=ORIGIN)
