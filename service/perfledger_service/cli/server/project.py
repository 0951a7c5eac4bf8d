"""Adds and lists projects."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.option_values import TrustedWord
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store


@command(
    examples=(
        "perfledger server project add octo/models",
        "perfledger server project add octo/models --trust runners > token",
        "perfledger server project add octo/models --json",
    )
)
def add(
    repository: Annotated[str, argument("owner/name, as GitHub writes it", metavar="REPOSITORY")],
    *,
    trust: Annotated[
        TrustedWord, how("whose word on the default branch counts")
    ] = TrustedWord.GITHUB,
    output: DocumentOutput,
) -> None:
    """Allow a repository to upload, and print its token.

    The token is shown only once. Whoever has the token of a project that trusts its runners can
    change its baseline: `perfledger server reorder` sets the trust, and takes it back.
    """
    from perfledger_service.rendering.server.project import new_token_document

    with open_store() as engine:
        from perfledger_service.usecases.pull_requests.projects import add_project, new_token

        token = new_token()
        add_project(
            engine,
            repository,
            token=token,
            now=datetime.now(UTC),
            trust_runners=trust is TrustedWord.RUNNERS,
        )
    output.write_document(token, partial(new_token_document, repository))


@command(examples=("perfledger server project list", "perfledger server project list --json"))
def list_projects(*, output: DocumentOutput) -> None:
    """List the projects with the prefixes of their tokens."""
    from perfledger_service.rendering.server.project import UploadTokenRow, tokens_document

    with open_store() as engine:
        from perfledger_service.usecases.pull_requests.projects import list_tokens

        rows = [
            UploadTokenRow(
                repository=token.project.repository,
                prefix=token.prefix,
                created_on=token.created_at.date().isoformat(),
                revoked_on=token.revoked_at.date().isoformat() if token.revoked_at else None,
            )
            for token in list_tokens(engine)
        ]
    output.write_document(rows, tokens_document)
