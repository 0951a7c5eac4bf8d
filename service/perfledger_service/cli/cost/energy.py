"""Estimates the energy and emissions of accelerator-hours."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.ownership_flags import GridFlags
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        "perfledger cost energy 512x20d --mean-watts 650",
        (
            "perfledger cost energy 1022362 --mean-watts 700 --pue 1.1 --location-kg-per-kwh 0.4 "
            "--json"
        ),
    )
)
def energy(
    hours: Annotated[
        list[str],
        argument("accelerator-hours (1022362), or COUNTxTIME (512x20d, 8x5.3h)", metavar="HOURS"),
    ],
    *,
    mean_watts: Annotated[
        float, what("mean power of an accelerator with its share of the host", metavar="WATTS")
    ],
    pue: Annotated[
        float | None,
        how(
            "power usage effectiveness: facility energy over IT energy",
            metavar="RATIO",
            default="the packaged input",
        ),
    ] = None,
    grid: GridFlags,
    price_flags: PriceFlags,
    output: DocumentOutput,
) -> None:
    """Estimate the energy and CO2 of accelerator-hours, by location and by market."""
    from perfledger_service.rendering.cost.energy import energy_document
    from perfledger_service.usecases.cost.energy import PowerDraw, energy_use

    draw = PowerDraw(watts=mean_watts, pue=pue, grid=grid.grid)
    output.write_document(
        energy_use(price_flags.books, tuple(hours), draw), lambda use: energy_document(*use)
    )
