"""Reads a bill."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, out
from perfledger_service.cli.output import DocumentOutput, write_text


@command(
    examples=(
        "perfledger prices bill bill.csv",
        "perfledger prices bill bill.csv --team-tag team --save-prices paid.csv --json",
    )
)
def bill(
    file: Annotated[Path, argument("a bill in FOCUS 1.0 to 1.2, CSV or Parquet", metavar="FILE")],
    *,
    team_tag: Annotated[
        str, how("the tag that names the team", metavar="TAG", default="the sub-account")
    ] = "",
    output: DocumentOutput,
    save_prices: Annotated[
        Path | None, out("also write the prices paid to this file", metavar="FILE")
    ] = None,
) -> None:
    """Show the accelerator-hours of a bill by team, and the effective price of an hour."""
    from perfledger_service.rendering.prices.bill import bill_document
    from perfledger_service.usecases.inputs.bills import read_bill
    from perfledger_service.usecases.prices.bill import paid_sheet

    read = read_bill(file, team_tag=team_tag)
    if save_prices is not None:
        write_text(paid_sheet(read, source=file.name), save_prices)
    output.write_document(read, bill_document)
