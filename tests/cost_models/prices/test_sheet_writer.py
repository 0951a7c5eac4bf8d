from dataclasses import replace
from datetime import date
from decimal import Decimal

from hypothesis import given, strategies as st

from perfledger_cost_models.prices.check import check_sheet
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.prices.sheet_writer import text_of


def test_the_packaged_sheet_reads_back_as_it_was():
    sheet = packaged_sheet()

    assert check_sheet(text_of(sheet), sheet.name).sheet == sheet


@given(st.decimals("0.000001", "99999", places=25), st.integers(1, 64))
def test_any_price_reads_back_to_nine_decimals(usd, count):
    price = replace(packaged_sheet().prices[0], usd_per_hour=usd, count=count)

    (found_price,) = check_sheet(
        text_of(PriceSheet(name="one", prices=(price,))), "one"
    ).sheet.prices

    assert abs(found_price.usd_per_hour - usd) <= Decimal("5e-10")


def test_a_day_of_reading_stays_one():
    price = replace(
        packaged_sheet().prices[0], as_of=date(2026, 11, 1), is_read_date=True, retrieved_at=None
    )

    (found_price,) = check_sheet(
        text_of(PriceSheet(name="one", prices=(price,))), "one"
    ).sheet.prices

    assert (found_price.as_of, found_price.is_read_date) == (date(2026, 11, 1), True)
