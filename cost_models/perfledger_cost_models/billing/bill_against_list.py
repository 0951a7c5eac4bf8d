"""Compares what an hour of an instance cost by a bill with what it costs by the price list."""

from collections.abc import Iterator
from decimal import Decimal

from perfledger_cost_models.billing.focus import Bill, paid_prices
from perfledger_cost_models.prices.price_sheet import Price, PriceSheet
from perfledger_cost_models.prices.priced_rows import PricedRow
from perfledger_cost_models.prices.term_rules import MAX_BILLED_FOLD, billed_prices

# Hours in minutes are off by 60, in seconds by 3,600, and no discount comes near.
UNIT_FOLD = Decimal(30)


def implausible_hours(
    bill: Bill,
    sheet: PriceSheet,
    *,
    name: str,
    own_prices: PriceSheet | None = None,
    certain: bool = False,
) -> Iterator[str]:
    """Yield a clause for each instance whose hours or costs must be in another unit.

    Its cost an hour is further off all list prices of its SKU and pricing model than usual
    discounts (`prices.term_rules.billed_prices`), and off those of `own_prices`, a sheet with an
    organisation's own prices and discounts. Instances without a list price are not compared. With
    `certain` only those are named that no discount explains.
    """
    billed = [PricedRow(row, price) for row, price in enumerate(paid_prices(bill, source=name))]
    listed = [
        PricedRow(-row, price, is_reference=True) for row, price in enumerate(sheet.prices, start=1)
    ]
    for row, _, reason in billed_prices([*listed, *billed]):
        is_agreed = own_prices is not None and _is_near(row.price, own_prices, MAX_BILLED_FOLD)
        if not (is_agreed or (certain and _is_near(row.price, sheet, UNIT_FOLD))):
            yield f"{row.price.provider}:{row.price.sku} {row.price.pricing_model}: {reason}"


def _is_near(billed: Price, sheet: PriceSheet, fold: Decimal) -> bool:
    """Return whether a price of a sheet is near a bill's of the same SKU and pricing model."""
    return any(
        (each.provider, each.sku, each.pricing_model)
        == (billed.provider, billed.sku, billed.pricing_model)
        and each.usd_per_hour / fold <= billed.usd_per_hour <= each.usd_per_hour * fold
        for each in sheet.prices
    )
