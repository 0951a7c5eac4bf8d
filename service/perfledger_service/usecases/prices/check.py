"""Checks a price sheet for errors."""

from pathlib import Path

from perfledger_cost_models.prices.price_check import SheetCheck, check_sheet
from perfledger_cost_models.prices.price_sheet import packaged_sheet, packaged_text, read_sheet
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import text_of_file


def check_prices(path: Path | None, *, previous: Path | None = None) -> SheetCheck:
    """Check a price sheet, or the packaged one; `previous` shows large changes.

    Raises NotFoundError, TooLargeError and UsageError.
    """
    text = packaged_text() if path is None else text_of_file(path)
    name = packaged_sheet().name if path is None else path.name
    with translate_errors():
        before = None if previous is None else read_sheet(text_of_file(previous), previous.name)
        return check_sheet(text, name, previous=before)
