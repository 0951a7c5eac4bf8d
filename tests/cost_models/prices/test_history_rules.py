"""Prices beside their own earlier values: the newest outlier is wrong."""

from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.quote import PriceLayer

JULY, AUGUST, SEPTEMBER, NOVEMBER = (date(2026, month, 9) for month in (7, 8, 9, 11))
EARLIER, SUPERSEDED = "earlier value", "superseded price"


def test_a_tenfold_typo_is_wrong_and_not_the_values_before_it(price, rejected):
    rows = price("55.04", JULY), price("55.04", AUGUST), price("5.504", NOVEMBER)

    assert rejected(EARLIER, *rows) == [2]
    assert rejected(EARLIER, *reversed(rows)) == [0]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_value_that_agrees_with_no_other_is_wrong_wherever_it_stands(price, rejected, place):
    values = ["55.04"] * 3
    values[place] = "550.4"
    rows = (price(usd, day) for usd, day in zip(values, (JULY, AUGUST, NOVEMBER), strict=True))

    assert rejected(EARLIER, *rows) == [place]


def test_of_two_values_the_newer_is_wrong(price, rejected):
    assert rejected(EARLIER, price("55.04", JULY), price("5.504", NOVEMBER)) == [1]
    assert rejected(EARLIER, price("5.504", JULY), price("55.04", NOVEMBER)) == [1]


def test_a_checked_sheet_outvotes_any_number_of_new_rows(price, rejected):
    typos = [price("5.504", day) for day in (JULY, AUGUST, NOVEMBER)]

    assert rejected(EARLIER, *typos, references=[price("55.04", AUGUST)]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("usd", "count", "expected"),
    [("440.32", 8, [1]), ("6.88", 8, [1]), ("55.04", 1, [1]), ("6.88", 1, [])],
)
def test_the_price_of_an_instance_is_none_of_one_accelerator(price, rejected, usd, count, expected):
    rows = price("55.04", JULY), price(usd, NOVEMBER, count=count)

    assert rejected(EARLIER, *rows) == expected


def test_double_the_price_of_two_accelerators_is_that_of_the_instance(price, rejected):
    assert rejected(EARLIER, price("14", JULY, count=2), price("28", NOVEMBER, count=2)) == [1]
    assert rejected(EARLIER, price("14", JULY, count=4), price("28", NOVEMBER, count=4)) == []


@pytest.mark.parametrize(("usd", "expected"), [("165.12", []), ("165.2", [1]), ("18.3", [1])])
def test_a_list_price_may_become_three_times_as_much(price, rejected, usd, expected):
    assert rejected(EARLIER, price("55.04", JULY), price(usd, NOVEMBER)) == expected


@pytest.mark.parametrize(("usd", "expected"), [("11.1", []), ("10.9", [1])])
def test_spot_and_own_prices_may_be_a_fifth(price, rejected, usd, expected):
    spot = {"pricing_model": PricingModel.SPOT}
    own = {"layer": PriceLayer.OVERRIDE}

    assert rejected(EARLIER, price("55", JULY, **spot), price(usd, NOVEMBER, **spot)) == expected
    assert rejected(EARLIER, price("55", JULY), price(usd, NOVEMBER, **own)) == expected


def test_other_regions_terms_and_providers_are_no_earlier_values(price, rejected):
    others = ({"region": "r2"}, {"term": "1y"}, {"provider": "gcp"}, {"sku": "p5.4xlarge"})

    for other in others:
        assert rejected(EARLIER, price("55.04", JULY), price("5.504", NOVEMBER, **other)) == []


def test_an_old_price_under_a_new_date_is_found_by_the_one_that_replaced_it(price, rejected):
    history = price("98.32", date(2025, 3, 31)), price("55.04", JULY)

    assert rejected(SUPERSEDED, *history, price("98.32", NOVEMBER)) == [2]
    assert rejected(SUPERSEDED, price("98.3", NOVEMBER), references=history) == [0]
    assert rejected(SUPERSEDED, *history, price("55.04", NOVEMBER)) == []
    assert rejected(SUPERSEDED, *history, price("90", NOVEMBER)) == []


def test_the_right_price_after_a_restamped_one_stays(price, rejected):
    rows = (
        *(price("98.32", date(2025, 3, 31)), price("55.04", JULY)),
        *(price("98.32", SEPTEMBER), price("55.04", NOVEMBER)),
    )

    assert rejected(SUPERSEDED, *rows) == [2]


def test_a_price_may_return_after_a_promotion_unless_the_sku_has_other_prices(price, rejected):
    rows = price("31.92", JULY), price("23.92", AUGUST), price("31.92", NOVEMBER)

    assert rejected(SUPERSEDED, *rows) == []
    assert rejected(SUPERSEDED, *rows, price("23.92", NOVEMBER, region="r2")) == [2]


def test_own_prices_of_one_accelerator_are_none_of_the_instance(price, rejected):
    own = price("14.69", NOVEMBER, layer=PriceLayer.OVERRIDE, count=4)

    assert rejected(EARLIER, own, references=[price("58.76", JULY, count=4)]) == [0]


def test_a_price_that_nothing_replaced_may_be_confirmed_and_moved_a_little(price, rejected):
    rows = price("98.32", JULY), price("98.32", AUGUST), price("98.32", NOVEMBER)

    assert rejected(SUPERSEDED, *rows) == []
    assert rejected(SUPERSEDED, rows[0], price("99", AUGUST), rows[2]) == []


def test_an_old_price_of_another_region_is_found_too(price, rejected):
    history = price("98.32", date(2025, 3, 31)), price("55.04", JULY)

    assert rejected(SUPERSEDED, *history, price("98.32", NOVEMBER, region="r2")) == [2]


def test_a_region_that_never_changed_keeps_its_price(price, rejected):
    history = price("98.32", date(2025, 3, 31)), price("55.04", JULY)
    kept_prices = price("98.32", JULY, region="r2"), price("98.32", NOVEMBER, region="r2")

    assert rejected(SUPERSEDED, kept_prices[1], references=[*history, kept_prices[0]]) == []


def test_a_spot_price_may_return(price, rejected):
    usd = ("30", "20", "30")
    rows = (
        price(each, day, pricing_model=PricingModel.SPOT)
        for each, day in zip(usd, (JULY, AUGUST, NOVEMBER), strict=True)
    )

    assert rejected(SUPERSEDED, *rows) == []


def test_a_price_is_not_dated_after_it_was_read(price, rejected):
    read = {"retrieved_at": date(2026, 8, 9)}

    assert rejected("days", price("55", date(2026, 8, 10), **read)) == []
    assert rejected("days", price("55", date(2026, 8, 11), **read)) == [0]


@pytest.mark.parametrize("fold", [Decimal("0.1"), Decimal(10), Decimal(8), Decimal("0.125")])
def test_no_typo_of_any_packaged_list_price_passes(packaged, rejected, fold, price):
    for one in packaged:
        typo = price(
            one.usd_per_hour * fold,
            NOVEMBER,
            **{name: getattr(one, name) for name in ("provider", "sku", "region", "accelerator")},
            **{name: getattr(one, name) for name in ("count", "pricing_model", "term")},
        )
        assert rejected(EARLIER, typo, references=packaged) == [0], one
