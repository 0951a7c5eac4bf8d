"""The command that bills hours under commitments: reservations, savings plans, the rest."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.books import Contract, OverridesFile, PricesFile, books_of
from perfledger_service.cli.checking import Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.pages.covered import coverage_csv, coverage_json, coverage_text
from perfledger_service.usecases.covering import Held, cover, usage_hours


class CoverageFormat(StrEnum):
    """How coverage is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def cost_cover(
    usage: Annotated[
        Path | None, typer.Argument(help="CSV of what was used: hour, sku, quantity")
    ] = None,
    *,
    used: Annotated[
        list[str] | None,
        typer.Option(help="in place of a table, of one hour: 4xp5.48xlarge; repeatable"),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option(
            help="a savings plan, USD an hour and term: 60@1y_no_upfront_compute, of one family "
            "p5:60@1y_no_upfront; repeatable"
        ),
    ] = None,
    reserved: Annotated[
        list[str] | None,
        typer.Option(help="reserved instances: 2xp4d.24xlarge@1y_no_upfront; repeatable"),
    ] = None,
    all_hours: Annotated[
        int | None,
        typer.Option("--hours", help="of all, those included in which nothing was used: 730"),
    ] = None,
    region: Annotated[str, typer.Option(help="whose prices count (else the reference one)")] = "",
    prices: PricesFile = None,
    overrides: OverridesFile = None,
    contract: Contract = None,
    form: Annotated[CoverageFormat, typer.Option("--format", help="how to write it")] = (
        CoverageFormat.TABLE
    ),
    output: Output = None,
) -> None:
    """Say what hours are billed under commitments, what of these was used, and what was left over.

    Hour by hour as providers do: reservations first, then plans of a family, then those for all.
    """
    hours = usage_hours(usage, used or (), all_hours=all_hours)
    held = Held(plans=plan or (), reserved=reserved or ())
    found = cover(books_of(prices, overrides, contract).sheet, hours, held, region=region)
    match form:
        case CoverageFormat.TABLE:
            show_table(coverage_text(found, len(hours)), output)
        case CoverageFormat.JSON:
            show_text(coverage_json(found, len(hours)), output)
        case CoverageFormat.CSV:
            show_text(coverage_csv(found), output)
