"""Adds and lists projects."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.option_values import TrustedWord
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.token_scope import TokenScope


@command(
    examples=(
        "perfledger server project add octo/models",
        "perfledger server project add octo/models --trust runners > token",
        "perfledger server project add octo/models --scope read --days 90 --json",
    )
)
def add(
    repository: Annotated[str, argument("owner/name, as GitHub writes it", metavar="REPOSITORY")],
    *,
    trust: Annotated[
        TrustedWord, how("whose word on the default branch counts")
    ] = TrustedWord.GITHUB,
    scope: Annotated[TokenScope, how("what the token may do")] = TokenScope.UPLOAD,
    days: Annotated[
        int | None,
        how("the token expires after so many days", metavar="DAYS", minimum=1, default="never"),
    ] = None,
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
            scope=scope,
            lifetime=None if days is None else timedelta(days=days),
        )
    output.write_document(token, partial(new_token_document, repository))


@command(
    examples=(
        "perfledger server project actions octo/models --repository-id 1296269 --owner-id 583231",
        "perfledger server project actions octo/models --repository-id 7 --owner-id 8 --branch ''",
    )
)
def actions(
    repository: Annotated[str, argument("owner/name, as GitHub writes it", metavar="REPOSITORY")],
    *,
    repository_id: Annotated[
        int, how("what `gh api repos/OWNER/NAME --jq .id` prints", metavar="NUMBER", minimum=1)
    ],
    owner_id: Annotated[
        int,
        how("what `gh api repos/OWNER/NAME --jq .owner.id` prints", metavar="NUMBER", minimum=1),
    ],
    branch: Annotated[
        str, how("the branch whose runs may enter the baseline", metavar="NAME")
    ] = "main",
) -> None:
    """Allow GitHub Actions runs of a repository to upload without a token of the project."""
    with open_store() as engine:
        from perfledger_service.usecases.pull_requests.projects import let_actions_upload

        let_actions_upload(
            engine,
            repository,
            repository_id=repository_id,
            owner_id=owner_id,
            branch=branch,
            now=datetime.now(UTC),
        )
    believed = f"; those of {branch} may enter the baseline" if branch else ""
    typer.echo(f"runs of {repository} (number {repository_id}) may upload{believed}")


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
                scope=token.scope,
                expires_on=token.expires_at.date().isoformat() if token.expires_at else None,
                revoked_on=token.revoked_at.date().isoformat() if token.revoked_at else None,
            )
            for token in list_tokens(engine)
        ]
    output.write_document(rows, tokens_document)
