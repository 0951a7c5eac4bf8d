"""Commands that take a change the whole way, or a part of it."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perfledger_service.cli.progress import TerminalWatcher
from perfledger_service.errors import UsageError
from perfledger_service.pages.as_json import report_json
from perfledger_service.pages.comment import comment
from perfledger_service.pages.terminal import plain_text, report_table
from perfledger_service.report import Report
from perfledger_service.settings import upload_settings
from perfledger_service.usecases import bundles
from perfledger_service.usecases.check import Question, check as run_check


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"


Output = Annotated[Path | None, typer.Option("--output", help="write the report here")]
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
    form: Formatted = Format.TABLE,
    output: Output = None,
    bundle: Annotated[Path | None, typer.Option(help="also write the result bundle here")] = None,
    upload: Annotated[
        str | None,
        typer.Option(help="upload the bundle to this service (or PERFLEDGER_UPLOAD_URL)"),
    ] = None,
    repository: Annotated[str, typer.Option(help="owner/name", envvar="GITHUB_REPOSITORY")] = "",
    pull_request: Annotated[
        int | None, typer.Option(help="its number", envvar="PERFLEDGER_PULL_REQUEST")
    ] = None,
) -> None:
    """Measure, judge, explain and price a change of the repository here.

    Exit codes: 0 no regression, 1 regression, 2 usage, 3 undecided or not measured, 4 internal.
    """
    question = Question(
        base=base,
        head=head,
        globs=tuple(workload or ()),
        repository=repository,
        pull_request=pull_request,
    )
    with TerminalWatcher(Console(stderr=True)) as watcher:
        found, report = run_check(
            Path(), question, flags={"device": device, "budget": budget}, watcher=watcher
        )
    spooled = bundles.spool(found, os.environ, also=bundle)
    url = _uploaded(spooled, upload)
    _show(report, form=form, output=output, url=url)
    typer.echo(f"bundle: {spooled}", err=True)
    raise typer.Exit(report.exit_code)


def report(
    bundle: Annotated[Path, typer.Argument(help="a result bundle")],
    *,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Judge, explain and price a result bundle again, from its file."""
    found = bundles.report_of(bundle)
    _show(found, form=form, output=output, url="")
    raise typer.Exit(found.exit_code)


def submit(
    bundle: Annotated[Path, typer.Argument(help="a result bundle")],
    *,
    url: Annotated[str | None, typer.Option(help="the service's root")] = None,
) -> None:
    """Upload a result bundle to the service; safe to repeat."""
    page = _uploaded(bundle, url, is_wanted=True)
    typer.echo(page)


def _uploaded(bundle: Path, url: str | None, *, is_wanted: bool = False) -> str:
    """Upload where a service is named, and return the page's address, else ""."""
    settings = upload_settings()
    target = url or settings.upload_url
    if not target:
        if is_wanted:
            msg = "no service to upload to: pass --url or set PERFLEDGER_UPLOAD_URL"
            raise UsageError(msg)
        return ""
    if settings.upload_token is None:
        msg = "PERFLEDGER_UPLOAD_TOKEN is not set: perfledger project add prints a token"
        raise UsageError(msg)
    return bundles.submit(bundle, target, settings.upload_token.get_secret_value())


def _show(report: Report, *, form: Format, output: Path | None, url: str) -> None:
    """Write the report where it was asked for; a file leaves the terminal its table."""
    text = _text(report, form=form, url=url)
    if output is not None:
        output.write_text(text, encoding="utf-8")
    if output is None and form is not Format.TABLE:
        typer.echo(text)
    else:
        Console().print(report_table(report, url=url))


def _text(report: Report, *, form: Format, url: str) -> str:
    match form:
        case Format.TABLE:
            return plain_text(report, url=url)
        case Format.MARKDOWN:
            return comment(report, url=url)
        case Format.JSON:
            return report_json(report, url=url) + "\n"
