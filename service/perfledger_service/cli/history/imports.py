"""Imports another tool's history into the service."""

from pathlib import Path
from typing import Annotated

from perfledger.metrics import WorseDirection
from perfledger_service.cli.command import command
from perfledger_service.cli.history.tool_options import CloneFolder, OneMachine, ToolName
from perfledger_service.cli.interruption import interruptible
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.service_target import UploadUrl, service_at


@command(
    examples=(
        "perfledger history import data.js --project octo/models --dry-run",
        "perfledger history import data.js --project octo/models --dry-run --json",
        "perfledger history import data.js --project octo/models",
    )
)
def import_history(
    files: Annotated[
        list[Path], argument("files or folders of one tool's history", metavar="FILE")
    ],
    *,
    project: Annotated[str, what("the repository that the commits are of", metavar="OWNER/NAME")],
    worse: Annotated[
        WorseDirection | None, what("what is worse where the history does not tell it")
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
    what is missing. What is imported is a series of its own, of the tool and its machine. It is
    searched for changes, and is never a baseline, judged or priced.
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
            repository=project,
            watcher=watcher,
            format_=None if source is None else format_named(source),
            clone=clone,
            is_one_machine=one_machine,
            worse=worse,
        )
        if target is not None:
            upload_history(history, target, watcher=watcher)
    summary = summarize_import(history, read, repository=project, is_dry_run=is_dry_run)
    output.write_document(summary, import_document)
