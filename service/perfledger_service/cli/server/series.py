"""Removes series of imported histories."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
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
    repository: Annotated[str, argument("owner/name, as GitHub writes it", metavar="REPOSITORY")],
    series: Annotated[
        list[int], argument("their numbers, as in the addresses of their pages", metavar="SERIES")
    ],
    *,
    is_dry_run: Annotated[
        bool, how("print what would be removed, and remove nothing", flag="--dry-run")
    ] = False,
    output: DocumentOutput,
) -> None:
    """Remove imported series with their points, such as those of a wrong direction.

    Their events are found no longer, and the audit log says who removed them. What checks measured
    is never removed so. The same file, imported with another --worse, makes other series.
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
