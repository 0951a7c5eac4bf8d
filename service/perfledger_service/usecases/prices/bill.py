"""Writes the effective prices of a bill as a price sheet."""

from perfledger_cost_models.billing.focus import Bill, paid_prices
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.prices.price_sheet_writer import text_of
from perfledger_service.errors import UsageError


def paid_sheet(bill: Bill, *, source: str) -> str:
    """Return the effective prices of a bill; raises UsageError without accelerators."""
    prices = paid_prices(bill, source=source)
    if not prices:
        msg = "this bill has no hours of a known accelerator, so there are no prices"
        raise UsageError(msg)
    return text_of(PriceSheet(name=source, prices=prices))
