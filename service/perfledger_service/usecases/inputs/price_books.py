"""Reads an organisation's prices and hardware inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import msgspec

from perfledger_cost_models.csv_table import MAX_SHEET_CHARS
from perfledger_cost_models.prices.check import CheckContext, SheetCheck, check_sheet
from perfledger_cost_models.prices.contract import (
    PriceOverrides,
    apply_overrides,
    read_overrides,
    with_contract,
)
from perfledger_cost_models.prices.exchange_rates import ExchangeRateTable, read_exchange_rates
from perfledger_cost_models.prices.layers import layer_sheets
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.quote import PriceLayer
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet, packaged_hardware_inputs
from perfledger_cost_models.tco.input_overrides import apply_own_inputs, own_rates, own_servers
from perfledger_cost_models.tco.onprem import SERVERS, ServerSpec
from perfledger_service.settings.service import PriceSettings, price_settings
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import errors_about, read_text

# A character takes at most four bytes in UTF-8.
MAX_SHEET_BYTES = 4 * MAX_SHEET_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBooks:
    """Prices, hardware inputs and servers of one organisation."""

    sheet: PriceSheet
    parameters: HardwareInputSheet
    servers: tuple[ServerSpec, ...]


def read_price_books(
    settings: PriceSettings, *, today: date, is_before_tax: bool = False
) -> PriceBooks:
    """Return the merged layers: packaged, fetched, organisation, contract.

    With `is_before_tax` their tax is left out, as a bill charges it in rows of its own.
    Rows that are implausible, unreadable or dated after `today` are among the sheet's rejected
    ones. Raises NotFoundError, TooLargeError and UsageError.
    """
    sheet, names = packaged_sheet(), [packaged_sheet().name]
    with translate_errors():
        rates = exchange_rates_of(settings)
        context = CheckContext(layer=PriceLayer.LIVE, today=today, exchange_rates=rates)
        if settings.prices:
            path = Path(settings.prices)
            sheet = _with_sheet(sheet, path, context)
            names.append(path.name)
        paths = [Path(each) for each in (settings.overrides, settings.contract) if each]
        overrides = _overrides([path for path in paths if not _is_table(path)])
        if is_before_tax:
            overrides = msgspec.structs.replace(overrides, tax=None)
        name = " + ".join([*names, *(path.name for path in paths)])
        sheet = _apply_own_files(replace(sheet, name=name), paths, overrides, context)
        parameters = (
            apply_own_inputs(packaged_hardware_inputs(), overrides, name=name)
            if overrides.parameter or overrides.tax
            else packaged_hardware_inputs()
        )
        servers = (*SERVERS, *own_servers(overrides))
        return PriceBooks(
            sheet=replace(sheet, owned=own_rates(servers, parameters, overrides)),
            parameters=parameters,
            servers=servers,
        )


def current_sheet(*, today: date) -> PriceSheet:
    """Return the price sheet that the environment selects; raise as `read_price_books` does."""
    return read_price_books(price_settings(), today=today).sheet


def exchange_rates_of(settings: PriceSettings) -> ExchangeRateTable | None:
    """Return the exchange rates that the settings name, None if none; raise as `text_of_file`."""
    if not settings.exchange_rates:
        return None
    path = Path(settings.exchange_rates)
    with errors_about(path):
        return read_exchange_rates(text_of_file(path), path.name)


def checked_file(path: Path, context: CheckContext) -> SheetCheck:
    """Read a price sheet and check it beside the packaged one, unless the context has another.

    Raises NotFoundError, TooLargeError and UsageError.
    """
    if context.reference is None:
        context = replace(context, reference=packaged_sheet())
    with errors_about(path):
        return check_sheet(text_of_file(path), path.name, context=context)


def text_of_file(path: Path) -> str:
    """Return a sheet's text; raises NotFoundError, TooLargeError and UsageError."""
    return read_text(path, most_bytes=MAX_SHEET_BYTES)


def _with_sheet(sheet: PriceSheet, path: Path, context: CheckContext) -> PriceSheet:
    """Return a sheet with a file's prices on top, checked beside the sheet."""
    check = checked_file(path, replace(context, reference=sheet))
    return layer_sheets([sheet, check.sheet], name=sheet.name)


def _apply_own_files(
    sheet: PriceSheet, paths: Sequence[Path], overrides: PriceOverrides, context: CheckContext
) -> PriceSheet:
    """Apply an organisation's files to the sheet in their order; all TOML files count as one.

    Prices in CSV count as written: discounts and taxes of TOML files do not apply to CSV files
    after them.
    """
    is_applied = False
    for path in paths:
        if _is_table(path):
            sheet = _with_sheet(sheet, path, replace(context, layer=PriceLayer.OVERRIDE))
        elif not is_applied:
            sheet = apply_overrides(sheet, overrides, name=sheet.name, today=context.today)
            is_applied = True
    return sheet


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _overrides(paths: Sequence[Path]) -> PriceOverrides:
    overrides = PriceOverrides()
    for path in paths:
        with errors_about(path):
            overrides = with_contract(overrides, read_overrides(text_of_file(path), path.name))
    return overrides
