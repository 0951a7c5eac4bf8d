"""Compares two price sheets."""

from pathlib import Path

from perfledger_cost_models.prices.check import CheckContext
from perfledger_cost_models.prices.diff import SheetDiff, sheet_diff
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_service.settings.service import price_settings
from perfledger_service.usecases.inputs.price_books import checked_file, exchange_rates_of

# Instead of a file's name.
PACKAGED = "packaged"


def diff_prices(before: str, after: str) -> SheetDiff:
    """Compare two price sheets, each a file or "packaged"; raise as `check_prices` does."""
    return sheet_diff(_sheet(before), _sheet(after))


def _sheet(name: str) -> PriceSheet:
    if name == PACKAGED:
        return packaged_sheet()
    context = CheckContext(exchange_rates=exchange_rates_of(price_settings()))
    return checked_file(Path(name), context).sheet
