"""Compares two price sheets."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DOCUMENT, Formats, Output, document_formats


@command(
    examples=(
        "perfledger prices diff old-prices.csv prices.csv",
        "perfledger prices diff packaged prices.csv --json",
    )
)
def diff(
    a: Annotated[str, argument('a price list in CSV, or "packaged"', metavar="A")],
    b: Annotated[str, argument('a later price list in CSV, or "packaged"', metavar="B")],
    *,
    output: Annotated[Output, Formats(*DOCUMENT)],
) -> None:
    """Show which prices were added, removed and changed between two sheets."""
    from perfledger_service.rendering.prices.diff import price_diff_document
    from perfledger_service.usecases.prices.diff import diff_prices

    output.write(
        diff_prices(a, b),
        document_formats(price_diff_document),
    )
