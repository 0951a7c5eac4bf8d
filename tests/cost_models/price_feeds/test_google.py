import json
from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.price_feeds.google import MAX_PAGE_BYTES, read_google
from perfledger_cost_models.price_feeds.rows import BulkFileError, FeedOrigin

ORIGIN = FeedOrigin(source="Cloud Billing Catalog", retrieved_at=date(2026, 11, 20))


def sku(description, usd, *, usage="OnDemand", region="us-central1", unit="h", **changes):
    """Return a SKU, written by hand in the shape of the catalog's."""
    dollars = Decimal(str(usd))
    price = {
        "currencyCode": "USD",
        "units": str(int(dollars)),
        "nanos": int((dollars - int(dollars)) * 10**9),
    }
    document = {
        "name": "services/6F81-5844-456A/skus/0000-0000-0000",
        "skuId": "0000-0000-0000",
        "description": description,
        "category": {
            "serviceDisplayName": "Compute Engine",
            "resourceFamily": "Compute",
            "resourceGroup": "GPU",
            "usageType": usage,
        },
        "serviceRegions": [region],
        "pricingInfo": [
            {
                "effectiveTime": "2026-09-26T08:00:00Z",
                "summary": "",
                "pricingExpression": {
                    "usageUnit": unit,
                    "displayQuantity": 1,
                    "tieredRates": [{"startUsageAmount": 0, "unitPrice": price}],
                },
            }
        ],
    }
    return document | changes


def page(*skus):
    return json.dumps({"skus": list(skus), "nextPageToken": ""}).encode()


def options(*skus):
    prices = read_google([page(*skus)], origin=ORIGIN)
    return {price.option: price.usd_per_hour for price in prices.prices}


H100 = (
    sku("Nvidia H100 80GB GPU running in Iowa", 9.8),
    sku("A3 Instance Core running in Iowa", 0.03),
    sku("A3 Instance Ram running in Iowa", 0.0025, unit="GiBy.h"),
)


def test_a_machine_is_the_sum_of_its_parts():
    prices = options(*H100)

    assert prices["a3-highgpu-8g/on_demand"] == 8 * Decimal("9.8") + 208 * Decimal(
        "0.03"
    ) + 1872 * Decimal("0.0025")


@pytest.mark.parametrize("missing", range(3))
def test_a_machine_without_one_of_its_parts_has_no_price(missing):
    assert options(*(part for place, part in enumerate(H100) if place != missing)) == {}


def test_a_part_from_another_region_does_not_complete_a_machine():
    document = sku("A3 Instance Ram running in Virginia", 0.0025, region="us-east4", unit="GiBy.h")

    assert options(*H100[:2], document) == {}


def test_spot_parts_make_a_spot_machine():
    parts = (
        sku("Spot Preemptible Nvidia H100 80GB GPU running in Iowa", 2.0, usage="Preemptible"),
        sku("Spot Preemptible A3 Instance Core running in Iowa", 0.01, usage="Preemptible"),
        sku(
            "Spot Preemptible A3 Instance Ram running in Iowa",
            0.001,
            usage="Preemptible",
            unit="GiBy.h",
        ),
    )

    assert set(options(*parts)) == {"a3-highgpu-1g/spot", "a3-highgpu-8g/spot"}


def test_a_spot_part_that_is_filed_under_on_demand_is_none():
    spot = sku("Spot Preemptible Nvidia H100 80GB GPU running in Iowa", 2.0, usage="OnDemand")

    assert options(*H100, spot) == options(*H100)
    assert options(spot, *H100) == options(*H100)


def test_of_a_parts_prices_over_time_the_last_counts():
    then, now = (sku("TpuV5e Running in Iowa", usd)["pricingInfo"][0] for usd in (1.5, 1.2))

    prices = options(sku("TpuV5e Running in Iowa", 1, pricingInfo=[then, now]))

    assert prices == {"tpu-v5e/on_demand": Decimal("1.2")}


@pytest.mark.parametrize(
    "description",
    [
        "Commitment v1: Nvidia H100 80GB GPU running in Iowa for 1 Year",
        "Reserved Nvidia H100 80GB GPU in Iowa",
        "DWS Calendar Mode Nvidia H100 80GB GPU running in Iowa",
    ],
)
def test_a_commitments_part_is_not_taken_for_on_demand(description):
    assert options(sku(description, 5.0), *H100[1:]) == {}


@pytest.mark.parametrize(
    ("description", "usd", "option", "expected"),
    [
        ("TpuV5e Running in Iowa", "1.2", "tpu-v5e/on_demand", "1.2"),
        ("TpuV5p Running in Iowa", "4.2", "tpu-v5p/on_demand", "4.2"),
        ("TpuV6e Running in Iowa", "2.7", "tpu-v6e/on_demand", "2.7"),
        ("Tpu-v4 Pod running in Oklahoma", "12.88", "tpu-v4/on_demand", "3.22"),
        ("Preemptible TpuV5e Running in Iowa", "0.6", "tpu-v5e/spot", "0.6"),
    ],
)
def test_a_tpu_is_priced_by_the_chip(description, usd, option, expected):
    assert options(sku(description, usd)) == {option: Decimal(expected)}


def test_a_tpu_of_a_price_that_is_not_by_the_hour_is_left_alone():
    assert options(sku("TpuV5e Running in Iowa", 1.2, unit="mo")) == {}


@pytest.mark.parametrize(
    "changes", [{"pricingInfo": []}, {"serviceRegions": []}, {"description": "Network Egress"}]
)
def test_a_sku_without_what_makes_a_price_is_left_alone(changes):
    assert options(sku("TpuV5e Running in Iowa", 1.2) | changes) == {}


def test_the_day_is_that_of_reading_and_the_note_says_since_when():
    (price,) = read_google([page(sku("TpuV5e Running in Iowa", 1.2))], origin=ORIGIN).prices

    assert (price.as_of, price.is_read_date) == (date(2026, 11, 20), True)
    assert price.note == "in force since 2026-09-26"


@pytest.mark.parametrize("content", [b"", b"[]", b'{"skus": 3}', b"\xff", b'{"error": {}}'])
def test_another_page_is_refused_by_its_number(content):
    with pytest.raises(BulkFileError, match="page 2"):
        read_google([page(), content], origin=ORIGIN)


def test_a_page_that_is_too_large_is_refused():
    with pytest.raises(BulkFileError, match="smaller"):
        read_google([b" " * (MAX_PAGE_BYTES + 1)], origin=ORIGIN)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(content):
    with suppress(BulkFileError):
        read_google([content], origin=ORIGIN)


@pytest.mark.parametrize(
    ("machine", "gpu", "series", "parts"),
    [
        ("a2-highgpu-8g", "Nvidia Tesla A100", "A2", (8, 96, 680)),
        ("a2-ultragpu-8g", "Nvidia Tesla A100 80GB", "A2", (8, 96, 1360)),
        ("a3-highgpu-1g", "Nvidia H100 80GB", "A3", (1, 26, 234)),
        ("a3-highgpu-8g", "Nvidia H100 80GB", "A3", (8, 208, 1872)),
    ],
)
def test_machines_have_the_parts_that_google_lists(machine, gpu, series, parts):
    """GPUs, vCPUs and GiB of https://cloud.google.com/compute/docs/gpus."""
    prices = options(
        sku(f"{gpu} GPU running in Iowa", 1),
        sku(f"{series} Instance Core running in Iowa", 0.01),
        sku(f"{series} Instance Ram running in Iowa", 0.00001, unit="GiBy.h"),
    )

    gpus, cores, gibibytes = parts
    assert prices[f"{machine}/on_demand"] == gpus + cores * Decimal("0.01") + gibibytes * Decimal(
        "0.00001"
    )
