"""Writes a price sheet of what a bill shows was paid."""

from perfledger_cost_models.billing.focus import Bill, paid_prices
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.prices.price_sheet_writer import text_of
from perfledger_service.errors import UsageError


def paid_sheet(bill: Bill, *, source: str) -> str:
    """Return a price list of what was paid; raises UsageError for a bill without accelerators."""
    prices = paid_prices(bill, source=source)
    if not prices:
        msg = "this bill has no hours of a known accelerator, so there are no prices"
        raise UsageError(msg)
    return text_of(PriceSheet(name=source, prices=prices))
