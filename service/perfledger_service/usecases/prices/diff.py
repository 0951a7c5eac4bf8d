"""Compares two price sheets."""

from pathlib import Path

from perfledger_cost_models.prices.price_diff import SheetDiff, sheet_diff
from perfledger_cost_models.prices.price_sheet import PriceSheet, packaged_sheet, read_sheet
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import text_of_file

# Instead of a file's name.
PACKAGED = "packaged"


def diff_prices(before: str, after: str) -> SheetDiff:
    """Compare two price sheets, each a file or "packaged"; raise as `check_prices` does."""
    return sheet_diff(_sheet(before), _sheet(after))


def _sheet(name: str) -> PriceSheet:
    if name == PACKAGED:
        return packaged_sheet()
    path = Path(name)
    with translate_errors():
        return read_sheet(text_of_file(path), path.name)
