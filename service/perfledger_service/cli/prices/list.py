"""Lists the prices that apply."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_values import today
from perfledger_service.cli.output import DOCUMENT, Formats, Output, document_formats
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        "perfledger prices list",
        "perfledger prices list --overrides overrides.toml --format csv --output prices.csv",
    )
)
def list_prices(
    *,
    price_flags: PriceFlags,
    output: Annotated[Output, Formats(*DOCUMENT)],
) -> None:
    """List the prices that apply, with their dates.

    Old and superseded prices are marked. JSON and CSV name the source of each.
    """
    from perfledger_service.rendering.prices.list import sheet_document

    output.write(
        price_flags.books.sheet,
        document_formats(lambda sheet: sheet_document(sheet, today=today())),
    )
