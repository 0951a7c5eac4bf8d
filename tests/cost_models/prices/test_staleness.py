from dataclasses import replace
from datetime import date, timedelta

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.prices.staleness import (
    MAX_AGE_DAYS,
    MaxAge,
    age_warnings,
    is_outdated,
    max_age_of,
    stale_prices,
    staleness_warnings,
)

DAY = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("max_age", "days"),
    [(MaxAge.LIST, 90), (MaxAge.BLOCK, 30), (MaxAge.SPOT, 7), (MaxAge.HARDWARE, 180)],
)
def test_a_price_warns_from_the_day_after_its_maximum_age(max_age, days):
    def warnings(age):
        return staleness_warnings(
            DAY, today=DAY + timedelta(age), max_age=max_age, is_read_date=False
        )

    assert MAX_AGE_DAYS[max_age] == days
    assert warnings(days) == ()
    assert not is_outdated(DAY, today=DAY + timedelta(days), max_age=max_age)
    assert is_outdated(DAY, today=DAY + timedelta(days + 1), max_age=max_age)
    assert warnings(days + 1) == (
        f"price is {days + 1} days old: {max_age} prices are valid for {days} days",
    )


def test_a_price_with_only_a_day_of_reading_says_so():
    found_staleness_warnings = staleness_warnings(
        DAY, today=date(2026, 6, 1), max_age=MaxAge.SPOT, is_read_date=True
    )

    assert found_staleness_warnings == (
        "price was read 151 days ago: spot prices are valid for 7 days",
    )


def test_a_price_from_the_future_warns():
    found_staleness_warnings = staleness_warnings(
        DAY, today=date(2025, 12, 31), max_age=MaxAge.LIST, is_read_date=False
    )

    assert found_staleness_warnings == ("price is dated 2026-01-01, after today (2025-12-31)",)


def test_without_a_day_there_is_no_warning_about_age():
    assert staleness_warnings(DAY, today=None, max_age=MaxAge.SPOT, is_read_date=False) == ()


def test_only_spot_marketplaces_and_blocks_are_valid_for_less_than_list_prices():
    assert {model: max_age_of(model) for model in PricingModel} == {
        PricingModel.ON_DEMAND: MaxAge.LIST,
        PricingModel.SPOT: MaxAge.SPOT,
        PricingModel.SAVINGS_PLAN: MaxAge.LIST,
        PricingModel.RESERVED: MaxAge.LIST,
        PricingModel.COMMITTED_USE: MaxAge.LIST,
        PricingModel.CAPACITY_BLOCK: MaxAge.BLOCK,
        PricingModel.MARKETPLACE: MaxAge.SPOT,
        PricingModel.MARKET_INDEX: MaxAge.LIST,
    }


def test_only_the_newest_price_of_an_option_is_held_to_its_age():
    sheet = packaged_sheet()
    found_stale_prices = stale_prices(sheet, today=date(2026, 11, 22))

    assert stale_prices(sheet, today=None) == ()
    assert all((date(2026, 11, 22) - each.price.as_of).days > 7 for each in found_stale_prices)
    assert not any(
        (each.price.sku, each.price.pricing_model) == ("p5.48xlarge", PricingModel.ON_DEMAND)
        for each in found_stale_prices
    )


def test_a_price_of_today_is_not_from_the_future():
    assert staleness_warnings(DAY, today=DAY, max_age=MaxAge.SPOT, is_read_date=False) == ()


def test_a_price_that_replaced_a_newer_one_warns_at_any_age():
    price = packaged_sheet().find("p5.48xlarge/on_demand")
    old = replace(price, newer_below=price.as_of + timedelta(days=3))
    text = f"price is of {price.as_of} and replaces a newer one of {old.newer_below}"

    assert age_warnings(price, today=price.as_of) == ()
    assert age_warnings(old, today=price.as_of) == (text,)
    assert age_warnings(old, today=None) == (text,)
