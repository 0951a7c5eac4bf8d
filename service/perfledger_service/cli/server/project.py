"""Adds and lists projects."""

from datetime import UTC, datetime, timedelta
from functools import partial
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.option_values import (
    REPOSITORY,
    Repository,
    TrustedWord,
    refuse_unused,
    repository_name,
)
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.errors import UsageError
from perfledger_service.values.people.person import Actor
from perfledger_service.values.token_scope import TokenScope


@command(
    examples=(
        "perfledger server project add octo/models",
        "perfledger server project add octo/models --trust runners > token",
        "perfledger server project add octo/models --scope read --days 90 --json",
    )
)
def add(
    repository: Repository,
    *,
    trust: Annotated[
        TrustedWord, how("who decides which commits are on the default branch")
    ] = TrustedWord.GITHUB,
    scope: Annotated[TokenScope, how("what the token may do")] = TokenScope.UPLOAD,
    days: Annotated[
        int | None,
        how("days until the token expires", metavar="DAYS", minimum=1, default="never"),
    ] = None,
    output: DocumentOutput,
) -> None:
    """Allow a repository to upload, and print its token.

    The token is shown only once. With --trust runners, anyone who has it can change the project's
    baseline; `perfledger server reorder --trust` changes this later.
    """
    from perfledger_service.rendering.server.project import new_token_document

    with open_store() as engine:
        from perfledger_service.usecases.server.project import add_project
        from perfledger_service.usecases.server.token import new_token

        token = new_token()
        add_project(
            engine,
            repository,
            token=token,
            now=datetime.now(UTC),
            trust_runners=trust is TrustedWord.RUNNERS,
            scope=scope,
            lifetime=None if days is None else timedelta(days=days),
            actor=Actor(name=getuser()),
        )
    output.write_document(token, partial(new_token_document, repository))


@command(
    examples=(
        "perfledger server project actions octo/models --repository-id 1296269 --owner-id 583231",
        "perfledger server project actions octo/models --repository-id 7 --owner-id 8 --branch ''",
        "perfledger server project actions octo/models --off --json",
    )
)
def actions(
    repository: Repository,
    *,
    repository_id: Annotated[
        int | None,
        how("the output of `gh api repos/OWNER/NAME --jq .id`", metavar="NUMBER", minimum=1),
    ] = None,
    owner_id: Annotated[
        int | None,
        how("the output of `gh api repos/OWNER/NAME --jq .owner.id`", metavar="NUMBER", minimum=1),
    ] = None,
    branch: Annotated[
        str, how("the branch whose runs may enter the baseline", metavar="NAME")
    ] = "main",
    off: Annotated[bool, how("stop accepting uploads from its runs", flag="--off")] = False,
    output: DocumentOutput,
) -> None:
    """Allow a repository's GitHub Actions runs to upload without the project's token."""
    if not off and (repository_id is None or owner_id is None):
        msg = "give --repository-id and --owner-id, or --off"
        raise UsageError(msg)
    if off:
        options = {
            "--repository-id": repository_id is not None,
            "--owner-id": owner_id is not None,
        }
        refuse_unused(options, "--off needs only the repository: leave these out")
    from perfledger_service.rendering.server.project import ActionsPermissionRow, actions_document

    with open_store() as engine:
        from perfledger_service.usecases.server.project import let_actions_upload, refuse_actions

        actor = Actor(name=getuser())
        if repository_id is None or owner_id is None:
            refuse_actions(engine, repository, actor=actor, now=datetime.now(UTC))
            output.write_document(None, partial(actions_document, repository))
            return
        let_actions_upload(
            engine,
            repository,
            repository_id=repository_id,
            owner_id=owner_id,
            branch=branch,
            actor=actor,
            now=datetime.now(UTC),
        )
    permission = ActionsPermissionRow(
        repository=repository, repository_id=repository_id, owner_id=owner_id, branch=branch
    )
    output.write_document(permission, partial(actions_document, repository))


@command(
    examples=(
        "perfledger server project rename octo/models octo/kernels",
        "perfledger server project rename octo/models acme/models --json",
    )
)
def rename(
    repository: Annotated[
        str, argument("its current name here", metavar=REPOSITORY, parser=repository_name)
    ],
    new_name: Annotated[
        str, argument("its new name on GitHub", metavar=REPOSITORY, parser=repository_name)
    ],
    *,
    output: DocumentOutput,
) -> None:
    """Rename a project whose repository was renamed or transferred on GitHub.

    An upload from GitHub Actions renames its project by itself.
    """
    from perfledger_service.rendering.server.project import renamed_project_document

    with open_store() as engine:
        from perfledger_service.usecases.server.project import rename_project

        actor = Actor(name=getuser())
        rename_project(engine, repository, new_name, actor=actor, now=datetime.now(UTC))
    output.write_document(new_name, partial(renamed_project_document, repository))


@command(
    examples=(
        "perfledger server project accepted octo/models",
        "perfledger server project accepted octo/models --json",
    )
)
def list_accepted(
    repository: Repository,
    *,
    output: DocumentOutput,
) -> None:
    """List the regressions that were accepted in comments, newest first."""
    from perfledger_service.rendering.server.acceptances import accepted_document

    with open_store() as engine:
        from perfledger_service.usecases.server.project import list_acceptances

        acceptances = list_acceptances(engine, repository)
    output.write_document(acceptances, partial(accepted_document, repository))


@command(examples=("perfledger server project list", "perfledger server project list --json"))
def list_projects(*, output: DocumentOutput) -> None:
    """List who may upload: tokens by prefix, and GitHub Actions runs."""
    from perfledger_service.rendering.server.project import (
        ActionsPermissionRow,
        UploadTokenRow,
        tokens_document,
    )

    with open_store() as engine:
        from perfledger_service.usecases.server.project import list_projects as stored_projects
        from perfledger_service.usecases.server.token import list_tokens

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
        actions = [
            ActionsPermissionRow(
                repository=project.repository,
                repository_id=project.actions_repository_id,
                owner_id=project.actions_owner_id,
                branch=project.actions_branch,
            )
            for project in stored_projects(engine)
            if project.actions_repository_id is not None and project.actions_owner_id is not None
        ]
    output.write_document(rows, lambda tokens: tokens_document(tokens, actions))
