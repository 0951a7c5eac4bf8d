"""Checks a price list for errors."""

from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.option_values import today
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.price_flags import PriceFlags


@command(
    examples=(
        "perfledger prices check",
        "perfledger prices check prices.csv --previous old-prices.csv --format markdown",
    )
)
def check(
    file: Annotated[
        Path | None, argument("a price list in CSV", metavar="FILE", default="the packaged one")
    ] = None,
    *,
    previous: Annotated[
        Path | None, how("the previous price list: shows what changed since", metavar="FILE")
    ] = None,
    exchange_rates: Annotated[
        Path | None,
        how("the ECB's table of rates, CSV (or PERFLEDGER_EXCHANGE_RATES)", metavar="FILE"),
    ] = None,
    output: DocumentOutput,
) -> None:
    """Find prices that cannot be right: typos, placeholders, and old prices with a new date.

    Each price is compared with its earlier values, the packaged sheet, and other terms, regions
    and sizes. Also counts prices that are too old. Exits with 2 if a row must not be used.
    """
    from perfledger_service.rendering.prices.check import price_check_document
    from perfledger_service.usecases.prices.check import check_prices
    from perfledger_service.values.report import ExitCode

    settings = PriceFlags(exchange_rates=exchange_rates).settings
    findings = check_prices(file, settings=settings, today=today(), previous=previous)
    output.write_document(findings, lambda check: price_check_document(check, today=today()))
    raise typer.Exit(ExitCode.USAGE if findings.rejected else ExitCode.OK)
