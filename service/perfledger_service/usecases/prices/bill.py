"""Writes a bill's effective prices as a price sheet."""

from perfledger_cost_models.billing.focus import Bill, paid_prices
from perfledger_cost_models.prices.check import CheckContext, check_prices
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.quote import PriceLayer
from perfledger_service.errors import UsageError


def paid_sheet(bill: Bill, *, source: str) -> PriceSheet:
    """Return the effective prices of a bill, without those that are implausible.

    Raises UsageError without accelerators.
    """
    prices = paid_prices(bill, source=source)
    if not prices:
        msg = "this bill has no hours of a known accelerator, so there are no prices"
        raise UsageError(msg)
    context = CheckContext(layer=PriceLayer.LIVE, reference=packaged_sheet())
    return check_prices(prices, source, context=context).sheet
