"""Lists the prices that apply."""

from perfledger_service.cli.command import command
from perfledger_service.cli.option_values import today
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        "perfledger prices list",
        "perfledger prices list --overrides overrides.toml --format csv --output prices.csv",
    )
)
def list_prices(*, price_flags: PriceFlags, output: DocumentOutput) -> None:
    """List the prices that apply, with their dates.

    Old and superseded prices are marked. JSON and CSV name the source of each.
    """
    from perfledger_service.rendering.prices.list import sheet_document

    output.write_document(
        price_flags.books.sheet, lambda sheet: sheet_document(sheet, today=today())
    )
