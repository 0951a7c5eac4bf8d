"""Exports projects' measurements."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import REPOSITORY, repository_name
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.storage.project_export import ExportFormat


@command(
    examples=(
        "perfledger server export ledger-2026-11-28",
        "perfledger server export exported --repository octo/models --files parquet",
        "perfledger server export exported --repository octo/models --json",
    )
)
def export(
    folder: Annotated[
        Path, argument("a new folder, which only its owner may read", metavar="FOLDER")
    ],
    *,
    repository: Annotated[
        list[str] | None,
        what("only this project; repeatable", metavar=REPOSITORY, parser=repository_name),
    ] = None,
    files: Annotated[ExportFormat, how("format of the files")] = ExportFormat.CSV,
    output: DocumentOutput,
) -> None:
    """Export series, points, runs, verdicts and events to files for other programs.

    The files are a consistent snapshot, and the service may keep running. datapackage.json
    describes their columns. Raw samples and profiles are not included: a backup contains
    everything.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import TableBar
    from perfledger_service.rendering.server.export import export_document

    with open_store() as engine:
        from perfledger_service.usecases.server.export import export_projects

        with TableBar(Console(stderr=True)) as watcher:
            result = export_projects(
                engine,
                folder,
                repositories=repository or (),
                file_format=files,
                watcher=watcher,
                now=datetime.now(UTC),
            )
    output.write_document(result, partial(export_document, path=str(folder)))
