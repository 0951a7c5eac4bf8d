"""Reads an organisation's prices and hardware inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger_cost_models.csv_table import MAX_SHEET_CHARS
from perfledger_cost_models.prices.contract_prices import (
    PriceOverrides,
    apply_overrides,
    layer_sheets,
    read_overrides,
    with_contract,
)
from perfledger_cost_models.prices.price_sheet import PriceSheet, packaged_sheet, read_sheet
from perfledger_cost_models.quote import PriceLayer
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet, packaged_hardware_inputs
from perfledger_cost_models.tco.input_overrides import apply_own_inputs, own_rates, own_servers
from perfledger_cost_models.tco.onprem import SERVERS, ServerSpec
from perfledger_service.settings.service import PriceSettings, price_settings
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import read_text

# UTF-8 takes at most four bytes a character.
MAX_SHEET_BYTES = 4 * MAX_SHEET_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceBooks:
    """Prices, hardware inputs and servers of one organisation."""

    sheet: PriceSheet
    parameters: HardwareInputSheet
    servers: tuple[ServerSpec, ...]


def read_price_books(settings: PriceSettings) -> PriceBooks:
    """Return the merged layers: packaged, fetched, organisation, contract.

    Raises NotFoundError, TooLargeError and UsageError.
    """
    sheets, names = [packaged_sheet()], [packaged_sheet().name]
    with translate_errors():
        if settings.prices:
            path = Path(settings.prices)
            sheets.append(read_sheet(text_of_file(path), path.name, layer=PriceLayer.LIVE))
            names.append(path.name)
        paths = [Path(each) for each in (settings.overrides, settings.contract) if each]
        overrides = _overrides([path for path in paths if not _is_table(path)])
        name = " + ".join([*names, *(path.name for path in paths)])
        sheet = _apply_own_files(layer_sheets(sheets, name=name), paths, overrides)
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


def current_sheet() -> PriceSheet:
    """Return the price sheet that the environment selects; raise as `read_price_books` does."""
    return read_price_books(price_settings()).sheet


def text_of_file(path: Path) -> str:
    """Return a sheet's text; raises NotFoundError, TooLargeError and UsageError."""
    return read_text(path, most_bytes=MAX_SHEET_BYTES)


def _apply_own_files(
    sheet: PriceSheet, paths: Sequence[Path], overrides: PriceOverrides
) -> PriceSheet:
    """Apply an organisation's files to the sheet in their order; all TOML files count as one.

    Prices in CSV count as written: discounts and taxes of TOML files do not apply to CSV files
    after them.
    """
    is_applied = False
    for path in paths:
        if _is_table(path):
            own_sheet = read_sheet(text_of_file(path), path.name, layer=PriceLayer.OVERRIDE)
            sheet = layer_sheets([sheet, own_sheet], name=sheet.name)
        elif not is_applied:
            sheet = apply_overrides(sheet, overrides, name=sheet.name)
            is_applied = True
    return sheet


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _overrides(paths: Sequence[Path]) -> PriceOverrides:
    overrides = PriceOverrides()
    for path in paths:
        overrides = with_contract(overrides, read_overrides(text_of_file(path), path.name))
    return overrides
