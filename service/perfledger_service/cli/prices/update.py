"""Writes a price sheet from the providers' public price lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import DAY, how, out, what
from perfledger_service.cli.option_values import today
from perfledger_service.cli.output import PrintedDocument, write_text
from perfledger_service.cli.server_modules import server_modules
from perfledger_service.errors import UsageError
from perfledger_service.usecases.prices.provider import Provider

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_cost_models.price_feeds.rows import BulkPrices

DEFAULT_SHEET = Path("perfledger-prices.csv")
DEFAULT_AWS_REGION = "us-east-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFlags:
    """The price lists that are read."""

    file: Annotated[
        list[Path] | None,
        what("read this downloaded price list instead of fetching; repeatable", metavar="FILE"),
    ] = None
    as_of: Annotated[
        datetime | None,
        what("when the files were fetched", metavar=DAY, default="their modification time"),
    ] = None
    provider: Annotated[
        list[Provider] | None, what("fetch from this provider only; repeatable")
    ] = None
    aws_region: Annotated[
        list[str] | None,
        what("AWS region (200 MB each); repeatable", metavar="REGION", default="us-east-1"),
    ] = None

    @property
    def feeds(self) -> "tuple[BulkPrices, ...]":
        """Read the named files, or fetch the providers' lists."""
        from perfledger_service.usecases.prices.update import read_bulk_files

        if self.file:
            return read_bulk_files(self.file, read_on=self.as_of.date() if self.as_of else None)
        return _fetch_prices(self.provider or (), self.aws_region or [DEFAULT_AWS_REGION])


@command(
    examples=(
        "perfledger prices update --file azure.json",
        "perfledger prices update --file azure.json --as-of 2026-11-20 --output sheet.csv",
        "perfledger prices update --file azure.json --json",
    )
)
def update(
    *,
    feed_flags: FeedFlags,
    approve: Annotated[
        bool, how("accept changes of more than 20 percent", flag="--approve")
    ] = False,
    output: Annotated[
        Path, out("the sheet to write; it keeps prices of other providers", metavar="FILE")
    ] = DEFAULT_SHEET,
    printed: PrintedDocument,
) -> None:
    """Fetch the providers' public price lists, check them, and write a price sheet.

    If a price changed by more than 20 percent, nothing is written without --approve (exit 2).
    Google needs PERFLEDGER_GOOGLE_API_KEY. Use the sheet with PERFLEDGER_PRICES.
    """
    from perfledger_service.rendering.prices.update import price_update_document
    from perfledger_service.usecases.prices.update import updated_sheet

    sheet = updated_sheet(feed_flags.feeds, output)
    steps, count = len(sheet.check.to_approve), len(sheet.check.sheet.prices)
    is_written = approve or not steps
    if is_written:
        write_text(sheet.text, output)
    printed.write_document(
        sheet, partial(price_update_document, written_to=output if is_written else None)
    )
    if not is_written:
        msg = (
            f"nothing was written: {steps} of {count} prices changed by more than 20 percent; "
            "check them, then repeat with --approve"
        )
        raise UsageError(msg)


def _fetch_prices(
    providers: Sequence[Provider], aws_regions: Sequence[str]
) -> "tuple[BulkPrices, ...]":
    from rich.console import Console

    from perfledger_service.cli.progress import DownloadBar
    from perfledger_service.settings.service import price_settings

    with server_modules():
        from perfledger_service.usecases.prices.fetch import fetch_prices
    settings = price_settings()
    console = Console(stderr=True)
    chosen = tuple(providers) or tuple(
        each for each in Provider if each is not Provider.GOOGLE or settings.google_api_key
    )
    if Provider.GOOGLE not in chosen and not providers:
        console.print("Google is left out: PERFLEDGER_GOOGLE_API_KEY is not set", markup=False)
    with DownloadBar(console) as watcher:
        return fetch_prices(
            chosen, aws_regions=aws_regions, settings=settings, progress=watcher, today=today()
        )
