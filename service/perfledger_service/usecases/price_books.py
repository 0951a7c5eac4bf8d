"""Where an organisation's prices are in, the prices and inputs that count for it out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger_cost_models.onprem import SERVERS, Server
from perfledger_cost_models.overrides import (
    Overrides,
    apply_overrides,
    layered,
    read_overrides,
    with_contract,
)
from perfledger_cost_models.own_inputs import apply_parameters, own_rates, own_servers
from perfledger_cost_models.parameter import ParameterSheet, packaged_parameters
from perfledger_cost_models.quote import Layer
from perfledger_cost_models.sheet import PriceSheet, packaged_sheet, read_sheet
from perfledger_cost_models.table import MAX_SHEET_CHARS
from perfledger_service.settings import PriceSettings, price_settings
from perfledger_service.usecases.text_files import read_text
from perfledger_service.usecases.translating import translated

# UTF-8 takes at most four bytes a character.
MAX_SHEET_BYTES = 4 * MAX_SHEET_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class Books:
    """What counts for one organisation: prices, inputs of owning, servers it could own."""

    sheet: PriceSheet
    parameters: ParameterSheet
    servers: tuple[Server, ...]


def read_books(settings: PriceSettings) -> Books:
    """Return the layers laid over each other: packaged, fetched, organisation, contract.

    Raises NotFoundError, TooLargeError and UsageError for files, and what a sheet or overrides that
    cannot be trusted raise.
    """
    sheets, names = [packaged_sheet()], [packaged_sheet().name]
    with translated():
        if settings.prices:
            path = Path(settings.prices)
            sheets.append(read_sheet(text_of_file(path), path.name, layer=Layer.LIVE))
            names.append(path.name)
        paths = [Path(each) for each in (settings.overrides, settings.contract) if each]
        own = _overrides([path for path in paths if not _is_table(path)])
        name = " + ".join([*names, *(path.name for path in paths)])
        sheet = _with_own(layered(sheets, name=name), paths, own)
        parameters = (
            apply_parameters(packaged_parameters(), own, name=name)
            if own.parameter or own.tax
            else packaged_parameters()
        )
        servers = (*SERVERS, *own_servers(own))
        return Books(
            sheet=replace(sheet, owned=own_rates(servers, parameters, own)),
            parameters=parameters,
            servers=servers,
        )


def current_sheet() -> PriceSheet:
    """Return the prices that count by the environment; raises as `read_books` does."""
    return read_books(price_settings()).sheet


def text_of_file(path: Path) -> str:
    """Return a sheet's text; raises NotFoundError, TooLargeError and UsageError."""
    return read_text(path, most_bytes=MAX_SHEET_BYTES)


def _with_own(sheet: PriceSheet, paths: Sequence[Path], own: Overrides) -> PriceSheet:
    """Lay an organisation's files over the sheet in their order; what is TOML counts as one.

    A price list in CSV counts as it is written: no discount and no tax come on top of what is laid
    later than them.
    """
    is_applied = False
    for path in paths:
        if _is_table(path):
            own_sheet = read_sheet(text_of_file(path), path.name, layer=Layer.OVERRIDE)
            sheet = layered([sheet, own_sheet], name=sheet.name)
        elif not is_applied:
            sheet = apply_overrides(sheet, own, name=sheet.name)
            is_applied = True
    return sheet


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _overrides(paths: Sequence[Path]) -> Overrides:
    found = Overrides()
    for path in paths:
        found = with_contract(found, read_overrides(text_of_file(path), path.name))
    return found
