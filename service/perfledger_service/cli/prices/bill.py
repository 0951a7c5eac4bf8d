"""Reads a bill."""

from pathlib import Path
from typing import Annotated

import typer

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
    file: Annotated[Path, argument("a bill in FOCUS 1.0 to 1.4, CSV or Parquet", metavar="FILE")],
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
    from perfledger_cost_models.billing.bill_against_list import implausible_hours
    from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
    from perfledger_cost_models.prices.sheet_writer import text_of
    from perfledger_service.rendering.prices.bill import bill_document
    from perfledger_service.rendering.prices.rejected import rejected_lines
    from perfledger_service.usecases.inputs.bills import read_bill
    from perfledger_service.usecases.prices.bill import paid_sheet

    read = read_bill(file, team_tag=team_tag)
    if save_prices is not None:
        paid = paid_sheet(read, source=file.name)
        write_text(text_of(paid), save_prices)
        for line in rejected_lines(paid.rejected):
            typer.echo(line, err=True)
    else:
        for line in implausible_hours(read, packaged_sheet(), name=file.name):
            typer.echo(f"{file.name}: {line}", err=True)
    output.write_document(read, bill_document)
