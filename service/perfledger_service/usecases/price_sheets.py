"""Price lists in, what cannot be right in them and how two of them differ out."""

from pathlib import Path

from perfledger_cost_models.price_check import SheetCheck, check_sheet
from perfledger_cost_models.sheet import PriceSheet, packaged_sheet, packaged_text, read_sheet
from perfledger_cost_models.sheet_diff import SheetDiff, sheet_diff
from perfledger_service.usecases.price_books import text_of_file
from perfledger_service.usecases.translating import translated

# In place of a file's name.
PACKAGED = "packaged"


def check_prices(path: Path | None, *, previous: Path | None = None) -> SheetCheck:
    """Check a price list, or the packaged one; `previous` is held against it for large steps.

    Raises NotFoundError, TooLargeError, UsageError and what a sheet that is no table raises.
    """
    text = packaged_text() if path is None else text_of_file(path)
    name = packaged_sheet().name if path is None else path.name
    with translated():
        before = None if previous is None else read_sheet(text_of_file(previous), previous.name)
        return check_sheet(text, name, previous=before)


def diff_prices(before: str, after: str) -> SheetDiff:
    """Compare two price lists, each a file or "packaged"; raises as `check_prices` does."""
    return sheet_diff(_sheet(before), _sheet(after))


def _sheet(name: str) -> PriceSheet:
    if name == PACKAGED:
        return packaged_sheet()
    path = Path(name)
    with translated():
        return read_sheet(text_of_file(path), path.name)
