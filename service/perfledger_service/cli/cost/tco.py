"""Computes the cost of owning a server."""

from dataclasses import replace
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import ChartOutput
from perfledger_service.cli.ownership_flags import GridFlags, HorizonFlags, OwnershipFlags
from perfledger_service.cli.price_flags import PriceFlags

DEFAULT_SERVER = "onprem-8xH100"


@command(
    examples=(
        "perfledger cost tco",
        "perfledger cost tco onprem-8xA100 --allocated-percent 60 --years 3",
        "perfledger cost tco --format svg --output tornado.svg",
    )
)
def tco(
    server: Annotated[
        str, argument("onprem-8xH100, onprem-8xA100, or one of your overrides", metavar="SERVER")
    ] = DEFAULT_SERVER,
    *,
    ownership: OwnershipFlags,
    horizon: HorizonFlags,
    grid: GridFlags,
    price_flags: PriceFlags,
    output: ChartOutput,
) -> None:
    """Show the yearly cost of owning a server, its NPV, and the inputs that matter most.

    Define your own servers and inputs with --overrides.
    """
    from perfledger_service.rendering.cost.plots import owning_svg
    from perfledger_service.rendering.cost.tco import owning_document
    from perfledger_service.usecases.cost.tco import cost_of_owning

    books = price_flags.books
    request = ownership.request(books)
    terms = replace(request.terms, years=horizon.horizon)
    request = replace(request, terms=terms, grid=grid.grid)
    output.write_document(
        cost_of_owning(books, server, request),
        owning_document,
        svg=owning_svg,
    )
