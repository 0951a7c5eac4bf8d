"""Compares what an hour of an instance cost by a bill with what it costs by the price list."""

from collections.abc import Iterator

from perfledger_cost_models.billing.focus import Bill, paid_prices
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.prices.priced_rows import PricedRow
from perfledger_cost_models.prices.term_rules import billed_prices


def implausible_hours(bill: Bill, sheet: PriceSheet, *, name: str) -> Iterator[str]:
    """Yield a clause for each instance whose hours or costs must be in another unit.

    Its cost an hour is further off all list prices of its SKU and pricing model than any discount
    (`prices.term_rules.billed_prices`). Instances without such a list price are not compared.
    """
    billed = [PricedRow(row, price) for row, price in enumerate(paid_prices(bill, source=name))]
    listed = [
        PricedRow(-row, price, is_reference=True) for row, price in enumerate(sheet.prices, start=1)
    ]
    for row, _, reason in billed_prices([*listed, *billed]):
        yield f"{row.price.provider}:{row.price.sku} {row.price.pricing_model}: {reason}"
