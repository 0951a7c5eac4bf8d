"""Shows the report of a result bundle."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import Format, Formats, Output

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_service.values.report import Report

BundleFile = Annotated[Path, argument("a result bundle", metavar="BUNDLE")]


@command(
    examples=(
        "perfledger report bundle.json",
        "perfledger report bundle.json --format markdown --output comment.md",
        "perfledger report bundle.json --json",
    )
)
def report(
    bundle: BundleFile,
    *,
    output: Annotated[Output, Formats(Format.TABLE, Format.MARKDOWN, Format.JSON)],
) -> None:
    """Judge, explain and price a result bundle again, from its file.

    Exit codes as for `perfledger check`.
    """
    from perfledger_service.usecases.check.report import report_of_file

    judged = report_of_file(bundle)
    show_report(judged, output)
    raise typer.Exit(judged.exit_code)


def show_report(judged: "Report", output: Output) -> None:
    """Write a report to its output; if that is a file, also show the table in the terminal."""
    from rich.console import Console

    from perfledger_service.rendering.check.comment import comment
    from perfledger_service.rendering.check.report_json import report_json
    from perfledger_service.rendering.check.terminal import report_table

    output.write(
        judged,
        {
            Format.TABLE: report_table,
            Format.MARKDOWN: comment,
            Format.JSON: lambda report: report_json(report) + "\n",
        },
    )
    if output.output is not None and output.chosen is not Format.TABLE:
        Console().print(report_table(judged))
