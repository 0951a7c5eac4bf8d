"""Commands about money: price sheets, and what hours cost."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfledger_cost_models.sheet import packaged_sheet
from perfledger_service.cli.checking import Format, Formatted, Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.pages.costs import (
    costs_json,
    costs_markdown,
    costs_text,
    owning_json,
    owning_markdown,
    owning_text,
    price_check_json,
    price_check_markdown,
    price_check_text,
)
from perfledger_service.pages.escape import clean
from perfledger_service.report import ExitCode
from perfledger_service.usecases.costing import check_prices, compare_costs, owning

MAX_CELL = 400
DEFAULT_ACCELERATOR = "H100-80GB"
DEFAULT_SERVER = "onprem-8xH100"
# Of the packaged inputs, the most likely share of hours in which owned accelerators are used.
DEFAULT_USE = 40.0


def prices_list(
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Print the price sheet with dates and sources."""
    today = datetime.now(UTC).date()
    prices = packaged_sheet().prices
    if as_json:
        rows = [
            {
                "option": price.option,
                "region": price.region,
                "accelerator": price.accelerator,
                "usd_per_hour": str(price.usd_per_hour),
                "as_of": price.as_of.isoformat(),
                "is_read_date": price.is_read_date,
                "source": price.source,
            }
            for price in prices
        ]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("option", "region", "accelerator", "USD/h", "as of", "age", box=None)
    for price in prices:
        age = f"{(today - price.as_of).days} d"
        cells = (
            price.option,
            price.region,
            f"{price.count}x {price.accelerator}",
            str(price.usd_per_hour),
            f"{price.as_of} (read)" if price.is_read_date else str(price.as_of),
            age,
        )
        table.add_row(*map(_text, cells))
    Console().print(table)


def prices_check(
    file: Annotated[
        Path | None, typer.Argument(help="a price list in CSV; without it the packaged one")
    ] = None,
    *,
    previous: Annotated[
        Path | None, typer.Option("--against", help="the last price list: what moved since then")
    ] = None,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Find prices that cannot be right: placeholders, Windows meters, wrong regions and terms.

    Exits with 2 if a row must not be used.
    """
    found = check_prices(file, previous=previous)
    match form:
        case Format.TABLE:
            show_table(price_check_text(found), output)
        case Format.MARKDOWN:
            show_text(price_check_markdown(found), output)
        case Format.JSON:
            show_text(price_check_json(found), output)
    raise typer.Exit(ExitCode.USAGE if found.rejected else ExitCode.OK)


def cost_compare(
    accelerator: Annotated[
        str, typer.Option(help="as on the price sheet: H100-80GB, A100-80GB, TPU-v4")
    ] = DEFAULT_ACCELERATOR,
    *,
    use: Annotated[
        float, typer.Option(help="percent of the hours paid for in which work is done")
    ] = DEFAULT_USE,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Say what a useful hour costs owned and on every way to buy it, and which is cheapest."""
    found = compare_costs(accelerator, use=use / 100, today=datetime.now(UTC).date())
    match form:
        case Format.TABLE:
            show_table(costs_text(found), output)
        case Format.MARKDOWN:
            show_text(costs_markdown(found), output)
        case Format.JSON:
            show_text(costs_json(found), output)


def cost_tco(
    server: Annotated[str, typer.Argument(help="onprem-8xH100 or onprem-8xA100")] = DEFAULT_SERVER,
    *,
    use: Annotated[
        float, typer.Option(help="percent of all hours in which work is done")
    ] = DEFAULT_USE,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Say what owning a server costs a year, and which input moves its useful hour most."""
    found = owning(server, use=use / 100)
    match form:
        case Format.TABLE:
            show_table(owning_text(found), output)
        case Format.MARKDOWN:
            show_text(owning_markdown(found), output)
        case Format.JSON:
            show_text(owning_json(found), output)


def _text(foreign: str) -> Text:
    """Return text that others wrote as text: brackets in it are no markup."""
    return Text(clean(foreign, limit=MAX_CELL) if foreign else "")
