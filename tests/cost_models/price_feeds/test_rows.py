from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

import pytest

from perfledger_cost_models.price_feeds.rows import (
    MAX_USD_PER_HOUR,
    FeedOffer,
    FeedOrigin,
    day_of,
    known_instances,
    prices_of,
)
from perfledger_cost_models.prices.price_sheet import PricingModel

TODAY = date(2026, 11, 20)
DAY = timedelta(days=1)
ORIGIN = FeedOrigin(source="a list", retrieved_at=TODAY)
OFFER = FeedOffer(
    sku="p5.48xlarge",
    region="us-east-1",
    model=PricingModel.ON_DEMAND,
    usd_per_hour=Decimal("55.04"),
    since=None,
)


def prices(*offers, origin=ORIGIN):
    return prices_of("aws", offers, origin=origin)


def test_an_offer_becomes_a_price_with_its_accelerators_and_origin():
    (price,) = prices(replace(OFFER, since=TODAY, note="a note")).prices

    assert (price.accelerator, price.count) == ("H100-80GB", 8)
    assert (price.as_of, price.is_read_date, price.source) == (TODAY, True, "a list")
    assert price.note == "in force since 2026-11-20; a note"


def test_a_stated_day_goes_before_the_day_of_reading():
    published = replace(ORIGIN, published=date(2026, 7, 20))

    (price,) = prices(OFFER, origin=published).prices

    assert (price.as_of, price.is_read_date) == (date(2026, 7, 20), False)


@pytest.mark.parametrize(
    "values",
    [
        {"usd_per_hour": MAX_USD_PER_HOUR},
        {"usd_per_hour": Decimal("0.0001")},
        {"since": TODAY},
        {"until": TODAY + DAY},
    ],
)
def test_offers_at_the_limits_are_prices(values):
    assert len(prices(replace(OFFER, **values)).prices) == 1


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"usd_per_hour": MAX_USD_PER_HOUR + Decimal("0.01")}, "no price above zero"),
        ({"usd_per_hour": Decimal(0)}, "no price above zero"),
        ({"since": TODAY + DAY}, "not yet in force"),
        ({"until": TODAY}, "no longer in force"),
        ({"sku": "m5.large"}, "no known accelerator"),
    ],
)
def test_offers_one_beyond_the_limits_are_left_out_and_counted(values, reason):
    offers = [replace(OFFER, **values)] * 2

    assert (prices(*offers).prices, prices(*offers).left_out) == ((), {reason: 2})


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("since", [None, TODAY - 2 * DAY])
def test_the_newer_of_two_prices_replaces_the_other(since, is_reversed):
    offers = [
        replace(OFFER, since=since),
        replace(OFFER, since=TODAY - DAY, usd_per_hour=Decimal(44)),
    ]

    bulk_prices = prices(*(reversed(offers) if is_reversed else offers))

    assert [price.usd_per_hour for price in bulk_prices.prices] == [Decimal(44)]
    assert bulk_prices.left_out == {"replaced by a newer price": 1}


def test_of_two_prices_of_one_day_the_first_counts():
    bulk_prices = prices(OFFER, replace(OFFER, usd_per_hour=Decimal(44)))

    assert [price.usd_per_hour for price in bulk_prices.prices] == [Decimal("55.04")]
    assert bulk_prices.left_out == {"a second, different price": 1}


def test_the_same_price_twice_is_not_left_out():
    assert prices(OFFER, OFFER).left_out == {}


@pytest.mark.parametrize("values", [{"region": "us-west-2"}, {"term": "1y"}])
def test_other_regions_and_terms_are_other_prices(values):
    assert len(prices(OFFER, replace(OFFER, **values)).prices) == 2


@pytest.mark.parametrize(
    ("text", "day"),
    [("2026-07-20T13:44:30Z", date(2026, 7, 20)), ("2026-07-20", date(2026, 7, 20)), ("", None)],
)
def test_a_day_is_the_beginning_of_a_time(text, day):
    assert day_of(text) == day


def test_instances_are_those_of_the_provider():
    assert known_instances("aws")["p5.48xlarge"].count == 8
    assert "p5.48xlarge" not in known_instances("gcp")
