"""Exports what projects measured."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.storage.project_export import ExportFormat


@command(
    examples=(
        "perfledger server export ledger-2026-11-28",
        "perfledger server export exported --project octo/models --files parquet",
        "perfledger server export exported --project octo/models --json",
    )
)
def export(
    folder: Annotated[
        Path, argument("a new folder, which only its owner may read", metavar="FOLDER")
    ],
    *,
    project: Annotated[
        list[str] | None,
        what("only this project, as owner/name; repeatable", metavar="REPOSITORY"),
    ] = None,
    files: Annotated[ExportFormat, how("format of the files")] = ExportFormat.CSV,
    output: DocumentOutput,
) -> None:
    """Export series, points, runs, verdicts and events to files for other programs.

    The files show the database at one moment; the service may run meanwhile. datapackage.json
    describes their columns. Raw samples and profiles are not among them: a backup has everything.
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
                repositories=project or (),
                file_format=files,
                watcher=watcher,
                now=datetime.now(UTC),
            )
    output.write_document(result, partial(export_document, path=str(folder)))
