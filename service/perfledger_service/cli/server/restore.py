"""Restores the service's database from a backup."""

from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import server_modules


@command(
    examples=(
        "PERFLEDGER_DATABASE_URL=sqlite:///new.db perfledger server restore backup.zip",
        "PERFLEDGER_DATABASE_URL=sqlite:///new.db perfledger server restore backup.zip --json",
    )
)
def restore(
    file: Annotated[Path, argument("written by `perfledger server backup`", metavar="FILE")],
    *,
    output: DocumentOutput,
) -> None:
    """Restore a backup into an empty database: that of PERFLEDGER_DATABASE_URL.

    A backup of SQLite can be restored to PostgreSQL, and vice versa. A backup of an older
    version is upgraded; a damaged one changes nothing. The service must not be running. At its next
    start it resumes the work that was waiting.
    """
    from rich.console import Console

    from perfledger_service.cli.progress import TableBar
    from perfledger_service.rendering.server.restore import restored_document
    from perfledger_service.settings.service import service_settings

    with server_modules():
        from perfledger_service.usecases.server.restore import restore as restore_database
    with TableBar(Console(stderr=True)) as watcher:
        restored = restore_database(service_settings().database_url, file, watcher=watcher)
    output.write_document(restored, restored_document)
