import json
from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.price_feeds.azure import MAX_PAGE_BYTES, read_azure
from perfledger_cost_models.price_feeds.rows import BulkFileError, FeedOrigin

ORIGIN = FeedOrigin(source="Azure Retail Prices", retrieved_at=date(2026, 11, 20))
# Written by hand in the shape of an item of https://prices.azure.com/api/retail/prices.
ITEM = {
    "currencyCode": "USD",
    "tierMinimumUnits": 0.0,
    "retailPrice": 7.346,
    "unitPrice": 7.346,
    "armRegionName": "eastus",
    "location": "US East",
    "effectiveStartDate": "2026-06-01T00:00:00Z",
    "meterName": "NC48ads A100 v4",
    "productName": "Virtual Machines NCads A100 v4 Series",
    "skuName": "NC48ads A100 v4",
    "serviceName": "Virtual Machines",
    "serviceFamily": "Compute",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "armSkuName": "Standard_NC48ads_A100_v4",
}
WINDOWS = {"productName": "Virtual Machines NCads A100 v4 Series Windows", "retailPrice": 9.554}


def page(*changes):
    return json.dumps(
        {
            "BillingCurrency": "USD",
            "Items": [ITEM | each for each in changes],
            "NextPageLink": None,
            "Count": len(changes),
        }
    ).encode()


def options(*changes):
    bulk_prices = read_azure([page(*changes)], origin=ORIGIN)
    return {price.option: price.usd_per_hour for price in bulk_prices.prices}


def test_a_price_says_its_day_its_region_and_what_it_pays_for():
    (price,) = read_azure([page({})], origin=ORIGIN).prices

    assert (price.option, price.region) == ("Standard_NC48ads_A100_v4/on_demand", "eastus")
    assert (price.usd_per_hour, price.count) == (Decimal("7.346"), 2)
    assert (price.as_of, price.is_read_date) == (date(2026, 11, 20), True)
    assert price.note == "in force since 2026-06-01"


def test_the_windows_meter_is_not_the_instance():
    assert options(WINDOWS, {}) == {"Standard_NC48ads_A100_v4/on_demand": Decimal("7.346")}


@pytest.mark.parametrize(
    "changes",
    [
        {"serviceName": "Storage"},
        {"currencyCode": "EUR"},
        {"meterName": "NC48ads A100 v4 Low Priority"},
        {"unitOfMeasure": "1 Month"},
        {"type": "DevTestConsumption"},
        {"retailPrice": None},
        {"type": "Reservation", "reservationTerm": "2 Years"},
    ],
)
def test_other_meters_are_left_alone(changes):
    assert options(changes) == {}


def test_spot_is_told_by_its_sku():
    assert options({"skuName": "NC48ads A100 v4 Spot", "retailPrice": 2.5}) == {
        "Standard_NC48ads_A100_v4/spot": Decimal("2.5")
    }


@pytest.mark.parametrize(("term", "years"), [("1 Year", 1), ("3 Years", 3), ("5 Years", 5)])
def test_a_reservation_costs_its_whole_term(term, years):
    changes = {"type": "Reservation", "reservationTerm": term, "retailPrice": 87600}

    assert options(changes) == {
        f"Standard_NC48ads_A100_v4/reserved/{years}y_no_upfront": Decimal(87600)
        / (years * HOURS_PER_YEAR)
    }


def test_savings_plans_stand_beside_their_instance():
    plans = [{"unitPrice": 5.0, "retailPrice": 5.0, "term": "1 Year"}, {"term": "4 Years"}]

    assert (
        options({"savingsPlan": plans})["Standard_NC48ads_A100_v4/savings_plan/1y_no_upfront"] == 5
    )


def test_pages_add_up():
    other = {"armRegionName": "westeurope", "retailPrice": 9.5}
    bulk_prices = read_azure([page({}), page(other)], origin=ORIGIN)

    assert [price.region for price in bulk_prices.prices] == ["eastus", "westeurope"]


@pytest.mark.parametrize(
    "content", [b"", b"<html>", b"[]", b'{"Items": 3}', b"\xff", b'{"Items":[3]}']
)
def test_another_page_is_refused_by_its_number(content):
    with pytest.raises(BulkFileError, match="page 2"):
        read_azure([page({}), content], origin=ORIGIN)


def test_a_page_that_is_too_large_is_refused():
    with pytest.raises(BulkFileError, match="smaller"):
        read_azure([b" " * (MAX_PAGE_BYTES + 1)], origin=ORIGIN)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content):
    with suppress(BulkFileError):
        read_azure([content], origin=ORIGIN)


@pytest.mark.parametrize(
    ("until", "count"), [("2026-10-31T23:59:59Z", 0), ("2027-01-01", 1), (None, 1)]
)
def test_a_price_whose_last_day_is_over_is_left_out(until, count):
    bulk_prices = read_azure(
        [page({"effectiveEndDate": until, "savingsPlan": None})], origin=ORIGIN
    )

    assert len(bulk_prices.prices) == count
    assert bulk_prices.left_out == ({} if count else {"no longer in force": 1})
