from datetime import date, timedelta

import pytest

from perfledger_cost_models.age import MAX_AGE_DAYS, Shelf, age_warnings, old_prices, shelf_of
from perfledger_cost_models.sheet import PricingModel, packaged_sheet

DAY = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("shelf", "days"),
    [(Shelf.LIST, 90), (Shelf.BLOCK, 30), (Shelf.SPOT, 7), (Shelf.HARDWARE, 180)],
)
def test_a_price_warns_from_the_day_after_its_kind_keeps(shelf, days):
    def warnings(age):
        return age_warnings(DAY, today=DAY + timedelta(age), shelf=shelf, is_read_date=False)

    assert MAX_AGE_DAYS[shelf] == days
    assert warnings(days) == ()
    assert warnings(days + 1) == (
        f"price is {days + 1} days old: {shelf} prices keep for {days} days",
    )


def test_a_price_known_only_by_its_day_of_reading_says_so():
    found = age_warnings(DAY, today=date(2026, 6, 1), shelf=Shelf.SPOT, is_read_date=True)

    assert found == ("price was read 151 days ago: spot prices keep for 7 days",)


def test_a_price_from_the_future_warns():
    found = age_warnings(DAY, today=date(2025, 12, 31), shelf=Shelf.LIST, is_read_date=False)

    assert found == ("price is dated 2026-01-01, after today (2025-12-31)",)


def test_without_a_day_nothing_is_said_about_age():
    assert age_warnings(DAY, today=None, shelf=Shelf.SPOT, is_read_date=False) == ()


def test_only_spot_marketplaces_and_blocks_keep_shorter_than_list_prices():
    assert {model: shelf_of(model) for model in PricingModel} == {
        PricingModel.ON_DEMAND: Shelf.LIST,
        PricingModel.SPOT: Shelf.SPOT,
        PricingModel.SAVINGS_PLAN: Shelf.LIST,
        PricingModel.RESERVED: Shelf.LIST,
        PricingModel.COMMITTED_USE: Shelf.LIST,
        PricingModel.CAPACITY_BLOCK: Shelf.BLOCK,
        PricingModel.MARKETPLACE: Shelf.SPOT,
        PricingModel.MARKET_INDEX: Shelf.LIST,
    }


def test_only_the_newest_price_of_an_option_is_held_to_its_age():
    sheet = packaged_sheet()
    found = old_prices(sheet, today=date(2026, 11, 22))

    assert old_prices(sheet, today=None) == ()
    assert all((date(2026, 11, 22) - each.price.as_of).days > 7 for each in found)
    assert not any(
        (each.price.sku, each.price.pricing_model) == ("p5.48xlarge", PricingModel.ON_DEMAND)
        for each in found
    )
