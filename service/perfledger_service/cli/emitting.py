"""The command that says what accelerator-hours take and emit."""

from enum import StrEnum
from typing import Annotated

import typer

from perfledger_service.cli.books import Contract, OverridesFile, books_of
from perfledger_service.cli.checking import Output
from perfledger_service.cli.owning_options import Covered, Location, Market, grid_of
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.pages.emissions import emissions_csv, emissions_json, emissions_text
from perfledger_service.usecases.emitting import Draw, emitted


class EnergyFormat(StrEnum):
    """How energy is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def cost_energy(
    hours: Annotated[
        list[str],
        typer.Argument(help="accelerator-hours, 1022362, or how many how long: 512x20d, 8x5.3h"),
    ],
    *,
    watts: Annotated[
        float, typer.Option(help="mean draw of an accelerator with its share of the host")
    ],
    pue: Annotated[
        float | None, typer.Option(help="the facility's energy over the computers' (packaged)")
    ] = None,
    location_kg: Location = None,
    market_kg: Market = None,
    covered: Covered = 0.0,
    overrides: OverridesFile = None,
    contract: Contract = None,
    form: Annotated[EnergyFormat, typer.Option("--format", help="how to write it")] = (
        EnergyFormat.TABLE
    ),
    output: Output = None,
) -> None:
    """Say what accelerator-hours take and what is emitted for it, by location and by market."""
    draw = Draw(watts=watts, pue=pue, grid=grid_of(location_kg, market_kg, covered))
    found = emitted(books_of(None, overrides, contract), tuple(hours), draw)
    match form:
        case EnergyFormat.TABLE:
            show_table(emissions_text(*found), output)
        case EnergyFormat.JSON:
            show_text(emissions_json(*found), output)
        case EnergyFormat.CSV:
            show_text(emissions_csv(*found), output)
