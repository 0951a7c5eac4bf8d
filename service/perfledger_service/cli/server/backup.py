"""Backs up the service's database."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput, check_writable
from perfledger_service.cli.server_modules import open_store


@command(
    examples=(
        "perfledger server backup ledger.zip",
        "perfledger server backup ledger.zip --json",
    )
)
def backup(
    file: Annotated[Path, argument("a new file, which only its owner may read", metavar="FILE")],
    *,
    output: DocumentOutput,
) -> None:
    """Back up the service's database to one file.

    The backup is a consistent snapshot, and the service may keep running. The file contains every
    table with its digest, is verified before it gets its name, and can be restored to SQLite or
    PostgreSQL. Tokens are stored only as hashes.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import TableBar
    from perfledger_service.rendering.server.backup import backup_document

    check_writable(file)
    with open_store() as engine:
        from perfledger_service.usecases.server.backup import back_up

        with TableBar(Console(stderr=True)) as watcher:
            manifest = back_up(engine, file, watcher=watcher, now=datetime.now(UTC))
    output.write_document(manifest, partial(backup_document, path=str(file)))
