"""The command that writes a quarter's procurement review."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perfledger_service.cli.books import Contract, OverridesFile, PricesFile, layers_of
from perfledger_service.cli.progress import TerminalWatcher
from perfledger_service.cli.serving import server_modules
from perfledger_service.errors import UsageError
from perfledger_service.settings import service_settings
from perfledger_service.usecases.review_files import Form, write_review


def review(
    quarter: Annotated[str, typer.Option(help="the quarter, such as 2026Q4")],
    plan: Annotated[Path, typer.Option(help="demand, options, supply and assumptions in TOML")],
    output: Annotated[Path, typer.Option(help="the folder that the review is written into")],
    *,
    bundles: Annotated[
        Path | None, typer.Option(help="a folder of bundles, in place of the service's database")
    ] = None,
    bill: Annotated[
        Path | None, typer.Option(help="the quarter's bill in FOCUS 1.0 to 1.2, CSV or Parquet")
    ] = None,
    team_tag: Annotated[str, typer.Option(help="the bill's tag that says whose a row is")] = "",
    prices: PricesFile = None,
    overrides: OverridesFile = None,
    contract: Contract = None,
    last: Annotated[Path | None, typer.Option(help="the review.json of the quarter before")] = None,
    form: Annotated[
        list[Form] | None, typer.Option("--format", help="what to write; repeatable; all without")
    ] = None,
    as_of: Annotated[
        str, typer.Option(help="the review's day, such as 2026-11-22; today without")
    ] = "",
    allow_stale_prices: Annotated[
        bool, typer.Option("--allow-stale-prices", help="go on with prices older than 180 days")
    ] = False,
) -> None:
    """Write the procurement review of a quarter: HTML, PDF, XLSX, FOCUS CSV, JSON."""
    with server_modules():
        from perfledger_service.usecases.reviewing import (  # noqa: PLC0415 - server modules
            Asked,
            quarter_named,
            review as make_review,
        )

    asked = Asked(
        quarter=quarter_named(quarter),
        today=_day(as_of),
        plan=plan,
        bundles=bundles,
        database_url=service_settings().database_url,
        bill=bill,
        team_tag=team_tag,
        prices=layers_of(prices, overrides, contract),
        last=last,
        is_stale_allowed=allow_stale_prices,
    )
    with TerminalWatcher(Console(stderr=True)) as watcher:
        watcher.stage("reading what was measured and paid")
        made = make_review(asked)
        watcher.stage("writing the documents; a PDF takes a while")
        for line in write_review(made, output, forms=tuple(form or Form)):
            typer.echo(line)


def _day(text: str) -> date:
    if not text:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        msg = f"--as-of is {text[:40]!r}: write a day as 2026-11-22"
        raise UsageError(msg) from error
