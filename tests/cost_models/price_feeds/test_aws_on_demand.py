from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.price_feeds.aws_on_demand import COLUMNS, read_aws
from perfledger_cost_models.price_feeds.rows import BulkFileError, FeedOrigin
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS

ORIGIN = FeedOrigin(source="the EC2 price list", retrieved_at=date(2026, 11, 20))
# Written by hand in the shape of AmazonEC2's index.csv: what stands above the header, and a row.
PREAMBLE = [
    '"FormatVersion","v1.0"\n',
    '"Disclaimer","This pricing list is for informational purposes only."\n',
    '"Publication Date","2026-07-20T13:44:30Z"\n',
    '"Version","20260720134430"\n',
    '"OfferCode","AmazonEC2"\n',
]
ROW = {
    "SKU": "ABCDEF",
    "OfferTermCode": "JRTCKXETXF",
    "TermType": "OnDemand",
    "EffectiveDate": "2026-07-01",
    "Unit": "Hrs",
    "PricePerUnit": "55.0400000000",
    "Currency": "USD",
    "LeaseContractLength": "",
    "PurchaseOption": "",
    "OfferingClass": "",
    "Instance Type": "p5.48xlarge",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "CapacityStatus": "Used",
    "Pre Installed S/W": "NA",
    "Region Code": "us-east-1",
    "MarketOption": "OnDemand",
}
PARTIAL = {
    "TermType": "Reserved",
    "EffectiveDate": "2026-07-01T00:00:00Z",
    "LeaseContractLength": "1yr",
    "PurchaseOption": "Partial Upfront",
    "OfferingClass": "standard",
}


def lines(*rows, columns=COLUMNS):
    yield from PREAMBLE
    yield ",".join(f'"{name}"' for name in (*columns, "RateCode")) + "\n"
    for changes in rows:
        row = ROW | changes
        yield ",".join(f'"{row[name]}"' for name in columns) + ',"x"\n'


def read(*rows):
    return read_aws(lines(*rows), origin=ORIGIN)


def test_an_on_demand_price_says_its_day_and_its_source():
    (price,) = read({}).prices

    assert (price.option, price.region, price.usd_per_hour) == (
        "p5.48xlarge/on_demand",
        "us-east-1",
        Decimal("55.04"),
    )
    assert (price.accelerator, price.count, price.as_of) == ("H100-80GB", 8, date(2026, 7, 20))
    assert price.note == "in force since 2026-07-01"
    assert price.source == "the EC2 price list"


@pytest.mark.parametrize(
    ("column", "other"),
    [
        ("Tenancy", "Dedicated"),
        ("Operating System", "Windows"),
        ("CapacityStatus", "UnusedCapacityReservation"),
        ("Pre Installed S/W", "SQL Ent"),
        ("MarketOption", "CapacityBlock"),
        ("Currency", "CNY"),
        ("Unit", "Quantity"),
        ("PricePerUnit", "free"),
        ("PricePerUnit", "NaN"),
    ],
)
def test_what_is_another_product_is_no_price_of_the_instance(column, other):
    assert read({column: other}).prices == ()


def test_a_price_of_nothing_is_left_out_and_counted():
    bulk_prices = read({"PricePerUnit": "0.0000000000"})

    assert bulk_prices.prices == ()
    assert bulk_prices.left_out == {"no price above zero": 1}


def test_an_instance_without_a_known_accelerator_is_left_out_and_counted():
    assert read({"Instance Type": "m7i.large"}).left_out == {"no known accelerator": 1}


def test_a_partly_prepaid_reservation_is_its_rate_and_its_upfront_money_over_the_term():
    (price,) = read(
        PARTIAL | {"Unit": "Quantity", "PricePerUnit": "87600"},
        PARTIAL | {"Unit": "Hrs", "PricePerUnit": "12.5"},
    ).prices

    assert price.pricing_model is PricingModel.RESERVED
    assert (price.term, price.usd_per_hour) == ("1y_partial_upfront", Decimal("22.5"))
    assert "87600" in price.note


def test_a_reservation_whose_hourly_rate_is_missing_has_no_price():
    assert read(PARTIAL | {"Unit": "Quantity", "PricePerUnit": "87600"}).prices == ()


def test_a_partly_prepaid_reservation_whose_upfront_money_is_missing_has_no_price():
    assert read(PARTIAL | {"Unit": "Hrs", "PricePerUnit": "12.5"}).prices == ()


def test_a_reservation_that_is_listed_twice_is_not_paid_twice():
    both = [
        PARTIAL | {"Unit": unit, "PricePerUnit": usd, "SKU": sku}
        for sku in ("ABCDEF", "GHIJKL")
        for unit, usd in (("Quantity", "87600"), ("Hrs", "12.5"))
    ]

    (price,) = read(*both).prices

    assert price.usd_per_hour == Decimal("22.5")


@pytest.mark.parametrize(
    "changes", [{"OfferingClass": "convertible"}, {"LeaseContractLength": "2yr"}]
)
def test_other_reservations_are_left_alone(changes):
    assert read(PARTIAL | changes | {"Unit": "Hrs", "PricePerUnit": "12.5"}).prices == ()


def test_two_prices_of_the_same_are_not_mixed_up():
    bulk_prices = read({}, {"PricePerUnit": "98.32"}, {})

    assert [price.usd_per_hour for price in bulk_prices.prices] == [Decimal("55.04")]
    assert bulk_prices.left_out == {"a second, different price": 1}


def test_a_price_is_as_of_the_publication_however_long_it_has_been_in_force():
    (price,) = read({"EffectiveDate": "2024-01-01"}).prices

    assert (price.as_of, price.is_read_date) == (date(2026, 7, 20), False)


def test_a_list_without_a_publication_date_is_of_the_day_it_was_read():
    (price,) = read_aws(list(lines({}))[len(PREAMBLE) :], origin=ORIGIN).prices

    assert (price.as_of, price.is_read_date) == (date(2026, 11, 20), True)


OLDER = {"EffectiveDate": "2025-01-01", "PricePerUnit": "98.32"}


@pytest.mark.parametrize("rows", [(OLDER, {}), ({}, OLDER)])
def test_of_two_prices_the_one_that_came_into_force_later_counts(rows):
    assert [price.usd_per_hour for price in read(*rows).prices] == [Decimal("55.04")]


def test_a_price_that_is_not_yet_in_force_is_left_out():
    bulk_prices = read({"EffectiveDate": "2027-01-01"})

    assert (bulk_prices.prices, bulk_prices.left_out) == ((), {"not yet in force": 1})


def test_a_file_without_the_columns_says_which():
    rows = lines({}, columns=[name for name in COLUMNS if name != "MarketOption"])

    with pytest.raises(BulkFileError, match="MarketOption"):
        read_aws(rows, origin=ORIGIN)


@pytest.mark.parametrize("text", [[], ["<html>\n"] * 50, ["a,b\n"]])
def test_another_file_is_refused(text):
    with pytest.raises(BulkFileError, match="Fetch AmazonEC2"):
        read_aws(text, origin=ORIGIN)


def test_a_row_that_is_cut_off_costs_only_itself():
    bulk_prices = read_aws([*lines({}), '"ABC","DEF"\n'], origin=ORIGIN)

    assert len(bulk_prices.prices) == 1


def test_a_line_without_an_end_is_refused():
    with pytest.raises(BulkFileError, match="characters"):
        read_aws(["x" * (MAX_LINE_CHARACTERS + 1)], origin=ORIGIN)


def test_quotes_that_never_close_are_refused():
    with pytest.raises(BulkFileError, match="line"):
        read_aws([*lines({}), '"ABC"DEF,"\n'], origin=ORIGIN)


@given(st.lists(st.text(max_size=60), max_size=8))
def test_any_text_is_read_or_refused(text):
    with suppress(BulkFileError):
        read_aws([*lines({}), *text], origin=ORIGIN)
