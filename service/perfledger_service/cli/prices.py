"""Commands about price sheets: what is on them, what is wrong with them, how they change."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perfledger_cost_models.bulk import BulkPrices
from perfledger_service.cli.books import Contract, OverridesFile, PricesFile, books_of
from perfledger_service.cli.checking import Output
from perfledger_service.cli.progress import DownloadBar
from perfledger_service.cli.serving import server_modules
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.bills import bill_csv, bill_json, bill_text
from perfledger_service.pages.sheets import (
    diff_csv,
    diff_json,
    diff_text,
    price_check_csv,
    price_check_json,
    price_check_markdown,
    price_check_text,
    sheet_csv,
    sheet_json,
    sheet_table,
    update_text,
)
from perfledger_service.report import ExitCode
from perfledger_service.settings import price_settings
from perfledger_service.usecases.bills import paid_sheet, read_bill
from perfledger_service.usecases.price_sheets import check_prices, diff_prices
from perfledger_service.usecases.price_update import (
    Provider,
    read_bulk_files,
    updated_sheet,
)

DEFAULT_SHEET = Path("perfledger-prices.csv")
DEFAULT_AWS_REGION = "us-east-1"


class ListFormat(StrEnum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class CheckFormat(StrEnum):
    """How findings are written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


def prices_list(
    *,
    prices: PricesFile = None,
    overrides: OverridesFile = None,
    contract: Contract = None,
    form: Annotated[ListFormat, typer.Option("--format", help="how to write it")] = (
        ListFormat.TABLE
    ),
    as_json: Annotated[bool, typer.Option("--json", help="as --format json")] = False,
    output: Output = None,
) -> None:
    """Print the prices that count, with their dates; those that are old or superseded are marked.

    JSON and CSV name the source of each.
    """
    sheet, today = books_of(prices, overrides, contract).sheet, _today()
    match ListFormat.JSON if as_json else form:
        case ListFormat.TABLE:
            show_table(sheet_table(sheet, today=today), output)
        case ListFormat.JSON:
            show_text(sheet_json(sheet, today=today), output)
        case ListFormat.CSV:
            show_text(sheet_csv(sheet, today=today), output)


def prices_check(
    file: Annotated[
        Path | None, typer.Argument(help="a price list in CSV; without it the packaged one")
    ] = None,
    *,
    previous: Annotated[
        Path | None, typer.Option("--against", help="the last price list: what moved since then")
    ] = None,
    form: Annotated[CheckFormat, typer.Option("--format", help="how to write the report")] = (
        CheckFormat.TABLE
    ),
    output: Output = None,
) -> None:
    """Find prices that cannot be right: placeholders, Windows meters, wrong regions and terms.

    Says how many are too old. Exits with 2 if a row must not be used.
    """
    found, today = check_prices(file, previous=previous), _today()
    match form:
        case CheckFormat.TABLE:
            show_table(price_check_text(found, today=today), output)
        case CheckFormat.MARKDOWN:
            show_text(price_check_markdown(found, today=today), output)
        case CheckFormat.JSON:
            show_text(price_check_json(found, today=today), output)
        case CheckFormat.CSV:
            show_text(price_check_csv(found), output)
    raise typer.Exit(ExitCode.USAGE if found.rejected else ExitCode.OK)


def prices_update(
    output: Annotated[
        Path, typer.Option(help="the sheet to write; what it has of others stays")
    ] = DEFAULT_SHEET,
    *,
    files: Annotated[
        list[Path] | None,
        typer.Option("--from", help="read this bulk file instead of fetching; repeatable"),
    ] = None,
    read_on: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="when the files were fetched (their last change)"),
    ] = None,
    provider: Annotated[
        list[Provider] | None, typer.Option(help="fetch from these alone; repeatable")
    ] = None,
    aws_region: Annotated[
        list[str] | None, typer.Option(help="regions of AWS, 200 MB each (us-east-1); repeatable")
    ] = None,
    approve: Annotated[
        bool, typer.Option("--approve", help="accept steps of more than 20 percent")
    ] = False,
) -> None:
    """Fetch the providers' public price lists, check them, and write a sheet that then counts.

    Without --approve nothing is written where a price moved by more than 20 percent: exit 2. Google
    is asked where PERFLEDGER_GOOGLE_API_KEY is set. Use the sheet with PERFLEDGER_PRICES.
    """
    if files:
        found = read_bulk_files(files, read_on=read_on.date() if read_on else None)
    else:
        found = _fetched(provider or (), aws_region or [DEFAULT_AWS_REGION])
    update = updated_sheet(found, output)
    show_table(update_text(update), None)
    steps = len(update.check.to_approve)
    if steps and not approve:
        msg = (
            f"nothing was written: {steps} prices moved by more than 20 percent; look at them, "
            "then repeat with --approve"
        )
        raise UsageError(msg)
    show_text(update.text, output)
    count = len(update.check.sheet.prices)
    typer.echo(f"{output}: {count} prices; they count with PERFLEDGER_PRICES={output}")


def prices_diff(
    before: Annotated[str, typer.Argument(help='a price list in CSV, or "packaged"')],
    after: Annotated[str, typer.Argument(help='a price list in CSV, or "packaged"')],
    *,
    form: Annotated[ListFormat, typer.Option("--format", help="how to write it")] = (
        ListFormat.TABLE
    ),
    output: Output = None,
) -> None:
    """Say which prices were added, removed and changed between two sheets."""
    found = diff_prices(before, after)
    match form:
        case ListFormat.TABLE:
            show_table(diff_text(found), output)
        case ListFormat.JSON:
            show_text(diff_json(found), output)
        case ListFormat.CSV:
            show_text(diff_csv(found), output)


def prices_bill(
    file: Annotated[Path, typer.Argument(help="a bill in FOCUS 1.0 to 1.2, CSV or Parquet")],
    *,
    team_tag: Annotated[
        str, typer.Option(help="the tag that says whose a row is (else: the sub-account)")
    ] = "",
    sheet: Annotated[
        Path | None, typer.Option(help="write what was really paid as a price list here")
    ] = None,
    form: Annotated[ListFormat, typer.Option("--format", help="how to write it")] = (
        ListFormat.TABLE
    ),
    output: Output = None,
) -> None:
    """Say whose accelerator-hours a bill has, and what an hour of each really cost."""
    bill = read_bill(file, team_tag=team_tag)
    if sheet is not None:
        show_text(paid_sheet(bill, source=file.name), sheet)
    match form:
        case ListFormat.TABLE:
            show_table(bill_text(bill), output)
        case ListFormat.JSON:
            show_text(bill_json(bill), output)
        case ListFormat.CSV:
            show_text(bill_csv(bill), output)


def _fetched(asked: Sequence[Provider], aws_regions: Sequence[str]) -> tuple[BulkPrices, ...]:
    settings = price_settings()
    console = Console(stderr=True)
    providers = tuple(asked) or tuple(
        each for each in Provider if each is not Provider.GOOGLE or settings.google_api_key
    )
    if Provider.GOOGLE not in providers and not asked:
        console.print("Google is left out: PERFLEDGER_GOOGLE_API_KEY is not set", markup=False)
    with server_modules():
        from perfledger_service.usecases.price_fetching import (  # noqa: PLC0415
            fetch_prices,
        )
    with DownloadBar(console) as watcher:
        return fetch_prices(
            providers,
            aws_regions=aws_regions,
            settings=settings,
            watcher=watcher,
            today=_today(),
        )


def _today() -> date:
    return datetime.now(UTC).date()
