"""Reads a bill."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, out
from perfledger_service.cli.output import DocumentOutput, write_text
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        "perfledger prices bill bill.csv",
        "perfledger prices bill bill.csv --team-tag team --save-prices paid.csv --json",
        "perfledger prices bill bill.csv --contract agreement.toml",
    )
)
def bill(
    file: Annotated[Path, argument("a bill in FOCUS 1.0 to 1.4, CSV or Parquet", metavar="FILE")],
    *,
    team_tag: Annotated[
        str, how("the tag that names the team", metavar="TAG", default="the sub-account")
    ] = "",
    price_flags: PriceFlags,
    output: DocumentOutput,
    save_prices: Annotated[
        Path | None, out("also write the prices paid to this file", metavar="FILE")
    ] = None,
) -> None:
    """Show the accelerator-hours of a bill by team, and the effective price of an hour.

    Each price is compared with the agreed one of --overrides and --contract, else with the list's.
    Costs in another currency are converted by --exchange-rates, at the rate of each charge's day.
    """
    from perfledger_cost_models.billing.bill_against_list import compared_prices, implausible_hours
    from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
    from perfledger_cost_models.prices.sheet_writer import text_of
    from perfledger_service.rendering.prices.bill import bill_document
    from perfledger_service.rendering.prices.rejected import rejected_lines
    from perfledger_service.usecases.inputs.bills import read_bill
    from perfledger_service.usecases.inputs.price_books import exchange_rates_of
    from perfledger_service.usecases.prices.bill import paid_sheet

    rates = exchange_rates_of(price_flags.settings)
    read = read_bill(file, team_tag=team_tag, exchange_rates=rates)
    sheet = price_flags.sheet_before_tax
    if save_prices is not None:
        paid = paid_sheet(read, source=file.name)
        write_text(text_of(paid), save_prices)
        for line in rejected_lines(paid.rejected):
            typer.echo(line, err=True)
    else:
        for line in implausible_hours(read, packaged_sheet(), name=file.name, own_prices=sheet):
            typer.echo(f"{file.name}: {line}", err=True)
    comparisons = compared_prices(read, sheet, name=file.name)
    output.write_document(read, partial(bill_document, comparisons=comparisons))
