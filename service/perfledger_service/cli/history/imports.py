"""Imports another tool's history into the service."""

from pathlib import Path
from typing import Annotated

from perfledger.metrics import WorseDirection
from perfledger_service.cli.command import command
from perfledger_service.cli.history.tool_options import CloneFolder, OneMachine, ToolName
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import REPOSITORY, repository_name
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.service_target import UploadUrl, service_at


@command(
    examples=(
        "perfledger history import data.js --repository octo/models --dry-run",
        "perfledger history import data.js --repository octo/models --dry-run --json",
        "perfledger history import data.js --repository octo/models",
    )
)
def import_history(
    files: Annotated[
        list[Path], argument("files or folders of one tool's history", metavar="FILE")
    ],
    *,
    repository: Annotated[
        str,
        what("the repository of the commits", metavar=REPOSITORY, parser=repository_name),
    ],
    worse: Annotated[
        WorseDirection | None, what("which direction is worse, if the history does not say")
    ] = None,
    source: ToolName = None,
    clone: CloneFolder = None,
    one_machine: OneMachine = False,
    is_dry_run: Annotated[
        bool, how("print what would be imported, and send nothing", flag="--dry-run")
    ] = False,
    upload_url: UploadUrl = None,
    output: DocumentOutput,
) -> None:
    """Import another tool's history into the service.

    Each commit is uploaded once: repeating the command, with more commits or after a failure, adds
    only what is missing. Imported results are separate series, one per tool and machine. They are
    searched for changes, but are never a baseline, judged or priced.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import TableBar
    from perfledger_service.rendering.history.imports import import_document
    from perfledger_service.usecases.history.imports import (
        import_history as upload_history,
        read_import,
        summarize_import,
    )
    from perfledger_service.usecases.inputs.benchmark_histories import format_named

    target = None if is_dry_run else service_at(upload_url)
    with interruptible(), TableBar(Console(stderr=True)) as watcher:
        history, read = read_import(
            files,
            repository=repository,
            watcher=watcher,
            format_=None if source is None else format_named(source),
            clone=clone,
            is_one_machine=one_machine,
            worse=worse,
        )
        if target is not None:
            upload_history(history, target, watcher=watcher)
    summary = summarize_import(history, read, repository=repository, is_dry_run=is_dry_run)
    output.write_document(summary, import_document)
