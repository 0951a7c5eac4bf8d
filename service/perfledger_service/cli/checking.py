"""Commands that take a change the whole way, or a part of it."""

import os
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perfledger.bundle import Bundle
from perfledger_service.cli.progress import TerminalWatcher
from perfledger_service.cli.showing import check_writable, write_text
from perfledger_service.errors import PerfledgerError, UsageError
from perfledger_service.pages.as_json import report_json
from perfledger_service.pages.comment import comment
from perfledger_service.pages.pair_plot import PairsOfTests, pairs_of
from perfledger_service.pages.terminal import plain_text, report_table
from perfledger_service.report import ExitCode, Report
from perfledger_service.settings import upload_settings
from perfledger_service.usecases import bundles
from perfledger_service.usecases.check import Question, check as run_check
from perfledger_service.usecases.recalling import save_history


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


Output = Annotated[Path | None, typer.Option("--output", help="write it into this file")]
Formatted = Annotated[Format, typer.Option("--format", help="how to write the report")]


def check(
    *,
    base: Annotated[str, typer.Option(help="compare with the merge-base with this revision")] = "",
    head: Annotated[
        str, typer.Option(help="the revision to judge (default: the working folder as it is)")
    ] = "",
    workload: Annotated[
        list[str] | None, typer.Option("-w", "--workload", help="only ids that match; repeatable")
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda or tpu")] = None,
    budget: Annotated[str | None, typer.Option(help="most time for measuring: 10m")] = None,
    budget_usd: Annotated[
        str | None, typer.Option(help="most money for measuring, in USD; needs --device-price")
    ] = None,
    device_price: Annotated[
        str | None,
        typer.Option(help="USD an hour of a device here, or its purchase option"),
    ] = None,
    form: Formatted = Format.TABLE,
    output: Output = None,
    bundle: Annotated[Path | None, typer.Option(help="also write the result bundle here")] = None,
    upload: Annotated[
        str | None,
        typer.Option(help="upload the bundle to this service (or PERFLEDGER_UPLOAD_URL)"),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="what `perfledger recall` wrote (default: the service is asked)"),
    ] = None,
    repository: Annotated[str, typer.Option(help="owner/name", envvar="GITHUB_REPOSITORY")] = "",
    pull_request: Annotated[
        int | None, typer.Option(help="its number", envvar="PERFLEDGER_PULL_REQUEST")
    ] = None,
) -> None:
    """Measure, judge, explain and price a change of the repository here.

    Exit codes: 0 no regression, 1 regression or above a cost limit, 2 usage, 3 undecided, not
    measured or a cost to approve, 4 internal.
    """
    target = bundles.target_of(upload, upload_settings())
    if output is not None:
        check_writable(output)
    bundles.make_room(os.environ, also=bundle)
    question = Question(
        base=base,
        head=head,
        globs=tuple(workload or ()),
        repository=repository,
        pull_request=pull_request,
    )
    with TerminalWatcher(Console(stderr=True)) as watcher:
        found, report = run_check(
            Path(),
            question,
            flags={
                "device": device,
                "budget": budget,
                "budget_usd": budget_usd,
                "device_price": device_price,
            },
            watcher=watcher,
            history=history or target,
        )
    spooled = bundles.spool(found, os.environ, also=bundle)
    _show(found, report, form=form, output=output)
    typer.echo(f"bundle: {spooled}", err=True)
    if target is not None:
        _upload(spooled, target)
    raise typer.Exit(report.exit_code)


def report(
    bundle: Annotated[Path, typer.Argument(help="a result bundle")],
    *,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Judge, explain and price a result bundle again, from its file."""
    found, judged = bundles.report_of(bundle)
    _show(found, judged, form=form, output=output)
    raise typer.Exit(judged.exit_code)


def submit(
    bundle: Annotated[Path, typer.Argument(help="a result bundle")],
    *,
    url: Annotated[str | None, typer.Option(help="the service's root")] = None,
) -> None:
    """Upload a result bundle to the service; safe to repeat."""
    target = bundles.target_of(url, upload_settings())
    if target is None:
        msg = "no service to upload to: pass --url or set PERFLEDGER_UPLOAD_URL"
        raise UsageError(msg)
    typer.echo(bundles.submit(bundle, target))


def recall(
    output: Annotated[Path, typer.Argument(help="the file for `perfledger check --history`")],
    *,
    url: Annotated[str | None, typer.Option(help="the service's root")] = None,
) -> None:
    """Write what the service knows of earlier pairs into a file, for a check without its token."""
    target = bundles.target_of(url, upload_settings())
    if target is None:
        msg = "no service to ask: pass --url or set PERFLEDGER_UPLOAD_URL"
        raise UsageError(msg)
    typer.echo(f"spreads of {save_history(target, output)} series: {output}", err=True)


def _upload(bundle: Path, target: bundles.Target) -> None:
    """Upload what is already shown and kept; exit with 4 if the service does not take it."""
    try:
        page = bundles.submit(bundle, target)
    except PerfledgerError as error:
        again = f"the report above stands; again: perfledger submit {shlex.quote(str(bundle))}"
        typer.echo(f"perfledger: not uploaded: {error}; {again}", err=True)
        raise typer.Exit(ExitCode.INTERNAL) from None
    typer.echo(f"page: {page}", err=True)


def _show(bundle: Bundle, report: Report, *, form: Format, output: Path | None) -> None:
    """Write the report where it was asked for; a file leaves the terminal its table."""
    pairs = pairs_of(bundle)
    text = _text(report, pairs, form=form)
    if output is not None:
        write_text(text, output)
    if output is None and form is not Format.TABLE:
        typer.echo(text)
    else:
        Console().print(report_table(report, pairs=pairs))


def _text(report: Report, pairs: PairsOfTests, *, form: Format) -> str:
    match form:
        case Format.TABLE:
            return plain_text(report, pairs=pairs)
        case Format.MARKDOWN:
            return comment(report)
        case Format.JSON:
            return report_json(report) + "\n"
