"""Removes series of imported histories."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.option_values import Repository
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor


@command(
    examples=(
        "perfledger server series remove octo/models 1 --dry-run",
        "perfledger server series remove octo/models 1 --json",
    )
)
def remove(
    repository: Repository,
    series: Annotated[
        list[int], argument("their numbers, from the addresses of their pages", metavar="SERIES")
    ],
    *,
    is_dry_run: Annotated[
        bool, how("print what would be removed, and remove nothing", flag="--dry-run")
    ] = False,
    output: DocumentOutput,
) -> None:
    """Remove imported series and their points, such as those with a wrong direction.

    Their events disappear, and the audit log records who removed them. Measurements of checks are
    never removed. Importing the same file with another --worse creates new series.
    """
    from perfledger_service.rendering.server.series import series_removal_document

    with open_store() as engine:
        from perfledger_service.usecases.server.series import remove_series

        removal = remove_series(
            engine,
            repository,
            series,
            actor=Actor(name=getuser()),
            is_dry_run=is_dry_run,
            now=datetime.now(UTC),
        )
    output.write_document(removal, series_removal_document)
