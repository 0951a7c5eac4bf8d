"""Shows the report of a result bundle."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import Format, Formats, Output

if TYPE_CHECKING:  # these would make every help slow
    from perfledger.bundle import Bundle
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

    read, judged = report_of_file(bundle)
    show_report(read, judged, output)
    raise typer.Exit(judged.exit_code)


def show_report(bundle: "Bundle", judged: "Report", output: Output) -> None:
    """Write a report where it belongs; the terminal gets its table when a file takes the rest."""
    from rich.console import Console

    from perfledger_service.rendering.check.check_json import report_json
    from perfledger_service.rendering.check.comment import comment
    from perfledger_service.rendering.check.pair_plot import pairs_of
    from perfledger_service.rendering.check.terminal import report_table

    pairs = pairs_of(bundle)
    output.write(
        judged,
        {
            Format.TABLE: lambda report: report_table(report, pairs=pairs),
            Format.MARKDOWN: comment,
            Format.JSON: lambda report: report_json(report) + "\n",
        },
    )
    if output.output is not None and output.chosen is not Format.TABLE:
        Console().print(report_table(judged, pairs=pairs))
