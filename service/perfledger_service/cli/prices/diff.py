"""Compares two price sheets."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput


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
    output: DocumentOutput,
) -> None:
    """Show which prices were added, removed and changed between two sheets."""
    from perfledger_service.rendering.prices.diff import price_diff_document
    from perfledger_service.usecases.prices.diff import diff_prices

    output.write_document(diff_prices(a, b), price_diff_document)
