"""Lists people's actions."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import what
from perfledger_service.cli.option_values import REPOSITORY, repository_name
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store


@command(
    examples=(
        "perfledger server audit",
        "perfledger server audit --repository octo/models --most 50",
        "perfledger server audit --json",
    )
)
def audit(
    *,
    repository: Annotated[
        str, what("only entries about this project", metavar=REPOSITORY, parser=repository_name)
    ] = "",
    most: Annotated[int, what("number of entries to list", metavar="COUNT", minimum=1)] = 200,
    output: DocumentOutput,
) -> None:
    """List people's actions, newest first: sign-ins, tokens, roles and states of events."""
    from perfledger_service.rendering.server.audit import audit_document

    with open_store() as engine:
        from perfledger_service.usecases.people.audit import audit_log

        entries = audit_log(engine, repository=repository, most=most)
    output.write_document(entries, audit_document)
