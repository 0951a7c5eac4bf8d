"""Computes the device-hours a year of each workload."""

from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import PeriodFlags, Source, files_of
from perfledger_service.cli.option_groups import argument, what
from perfledger_service.cli.output import DOCUMENT, Format, Formats, Output, document_formats


@command(
    examples=(
        "perfledger fleet hours usage.csv --config fleet.toml",
        "perfledger fleet hours usage.csv --config fleet.toml --format toml",
        (
            "perfledger fleet hours --source main --config fleet.toml --start 2026-07-01 "
            "--end 2026-10-01"
        ),
    )
)
def hours(
    files: Annotated[
        list[Path] | None,
        argument("sacct, Prometheus' or OpenCost's JSON or CSV, FOCUS in CSV", metavar="FILE"),
    ] = None,
    *,
    source: Source = None,
    config: Annotated[
        Path | None,
        what(
            "TOML with [[usage]] tables, which map jobs to workloads",
            metavar="FILE",
            default="the repository's",
        ),
    ] = None,
    period: PeriodFlags,
    output: Annotated[Output, Formats(*DOCUMENT, Format.TOML)],
) -> None:
    """Compute the device-hours a year of each workload from usage records.

    --format toml writes tables for perfledger.toml and `cost change --config`.
    """
    from perfledger_service.rendering.fleet.hours import (
        fleet_document,
        fleet_toml,
        unmatched_sentences,
    )
    from perfledger_service.usecases.fleet.hours import fleet_of
    from perfledger_service.values.fleet_views import ImportKind

    usage = files_of(files or (), source, ImportKind.USAGE)
    profile = fleet_of(usage, configuration=config, period=period.period)
    if output.chosen is not Format.TABLE:  # the table already contains these notes
        for sentence in unmatched_sentences(profile):
            typer.echo(sentence, err=True)
    output.write(profile, document_formats(fleet_document) | {Format.TOML: fleet_toml})
