"""Checks a price sheet for errors."""

from dataclasses import replace
from datetime import date
from pathlib import Path

from perfledger_cost_models.prices.check import CheckContext, SheetCheck, check_sheet
from perfledger_cost_models.prices.packaged_sheet import PACKAGED_SHEET, packaged_text
from perfledger_service.settings.service import PriceSettings
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import checked_file, exchange_rates_of


def check_prices(
    path: Path | None, *, settings: PriceSettings, today: date, previous: Path | None = None
) -> SheetCheck:
    """Check a price sheet, or the packaged one; `previous` shows large changes.

    A sheet is checked against the packaged one, as everywhere. Raises NotFoundError, TooLargeError
    and UsageError.
    """
    context = CheckContext(exchange_rates=exchange_rates_of(settings))
    if previous is not None:
        before = checked_file(previous, context).sheet
        context = replace(context, previous=before)
    if path is None:
        with translate_errors():
            return check_sheet(packaged_text(), PACKAGED_SHEET, context=context)
    return checked_file(path, replace(context, today=today))
