"""Writes a quarter's procurement review."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import how, out, what
from perfledger_service.cli.option_values import REPOSITORY, refuse_unused, repository_name, today
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.cli.server_modules import open_store, server_modules
from perfledger_service.usecases.review.document_format import ReviewFormat
from perfledger_service.values.people.person import Actor

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_cost_models.review.document import Review
    from perfledger_service.usecases.review.review import ReviewRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFlags:
    """The quarter and the input files of a review."""

    quarter: Annotated[str, what("the quarter, such as 2026Q4", metavar="QUARTER")]
    plan: Annotated[Path, what("demand, options, supply and assumptions in TOML", metavar="FILE")]
    bundles: Annotated[
        Path | None, what("a folder of bundles", metavar="FOLDER", default="the service's database")
    ] = None
    bill: Annotated[
        Path | None, what("the quarter's bill in FOCUS 1.0 to 1.4, CSV or Parquet", metavar="FILE")
    ] = None
    team_tag: Annotated[str, what("the bill's tag that names the team", metavar="TAG")] = ""
    previous: Annotated[
        Path | None, what("the review.json of the previous quarter", metavar="FILE")
    ] = None


@command(
    examples=(
        "perfledger review --quarter 2026Q3 --plan plan.toml --bill bill.csv --output review",
        (
            "perfledger review --quarter 2026Q3 --plan plan.toml --bill bill.csv --output review "
            "--format json"
        ),
        (
            "perfledger review --quarter 2026Q3 --plan plan.toml --bill bill.csv --output review "
            "--publish octo/models"
        ),
    )
)
def review(
    *,
    inputs: ReviewFlags,
    price_flags: PriceFlags,
    as_of: Annotated[
        datetime | None, how("the day of the review", metavar="DAY", default="today")
    ] = None,
    allow_stale_prices: Annotated[
        bool, how("accept prices older than 180 days", flag="--allow-stale-prices")
    ] = False,
    output: Annotated[Path, out("the folder to write the review to", metavar="FOLDER")],
    publish: Annotated[
        str,
        out(
            "also store the documents in the service, for the maintainers of this project",
            metavar=REPOSITORY,
            parser=repository_name,
        ),
    ] = "",
    format_: Annotated[
        list[ReviewFormat] | None, out("what to write; repeatable", flag="--format", default="all")
    ] = None,
    json: Annotated[bool, out("short for --format json", flag="--json")] = False,
) -> None:
    """Write the procurement review of a quarter as HTML, PDF, XLSX, FOCUS CSV and JSON."""
    from rich.console import Console

    with server_modules():
        from perfledger_service.usecases.review.review import review as build_review
    from perfledger_service.cli.progress import TerminalProgress
    from perfledger_service.usecases.review.documents import write_review

    is_alone = bool(inputs.team_tag) and inputs.bill is None
    refuse_unused({"--team-tag": is_alone}, "the tag is the bill's: give --bill, or leave this out")
    day = today() if as_of is None else as_of.date()
    request = _request(inputs, price_flags, day, is_stale_allowed=allow_stale_prices)
    forms = (ReviewFormat.JSON,) if json else tuple(format_ or ReviewFormat)
    with TerminalProgress(Console(stderr=True)) as watcher, ExitStack() as stack:
        store = stack.enter_context(_review_store(publish)) if publish else None
        watcher.stage("reading measurements and payments")
        built = build_review(request)
        watcher.stage("writing the documents; a PDF takes a while")
        lines = (
            write_review(built, output, forms=forms)
            if store is None
            else store(built, output, forms)
        )
        for line in lines:
            typer.echo(line)


@contextmanager
def _review_store(
    repository: str,
) -> "Generator[Callable[[Review, Path, Sequence[ReviewFormat]], Iterator[str]]]":
    """Open the service, and yield a writer that also stores a review's documents there.

    Raises NotFoundError if there is no such project, before anything is computed.
    """
    from perfledger_service.settings.service import service_settings

    with open_store() as engine:
        from perfledger_service.usecases.review.publishing import publish_review
        from perfledger_service.usecases.server.project import project_of_name

        project = project_of_name(engine, repository)

        def publish(
            review: "Review", folder: Path, forms: "Sequence[ReviewFormat]"
        ) -> "Iterator[str]":
            return publish_review(
                engine,
                project,
                review,
                folder,
                forms=forms,
                public_url=service_settings().public_url,
                actor=Actor(name=getuser()),
                now=datetime.now(UTC),
            )

        yield publish


def _request(
    inputs: ReviewFlags, price_flags: PriceFlags, day: date, *, is_stale_allowed: bool
) -> "ReviewRequest":
    from perfledger_service.settings.service import service_settings
    from perfledger_service.usecases.review.review import ReviewRequest, quarter_named

    return ReviewRequest(
        quarter=quarter_named(inputs.quarter),
        today=day,
        plan=inputs.plan,
        bundles=inputs.bundles,
        database_url=service_settings().database_url,
        bill=inputs.bill,
        team_tag=inputs.team_tag,
        prices=price_flags.settings,
        previous=inputs.previous,
        is_stale_allowed=is_stale_allowed,
    )
