"""Updates the order of a project's default branch."""

from getpass import getuser
from pathlib import Path
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import how
from perfledger_service.cli.option_values import Repository, TrustedWord
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor


@command(
    examples=(
        "perfledger server reorder octo/models --trust runners",
        "perfledger server reorder octo/models --clone models",
        "perfledger server reorder octo/models --trust runners --json",
    )
)
def reorder(
    repository: Repository,
    *,
    clone: Annotated[
        Path | None, how("a full clone whose default branch gives the order", metavar="FOLDER")
    ] = None,
    trust: Annotated[
        TrustedWord | None, how("who decides from now on which commits are on the branch")
    ] = None,
    output: DocumentOutput,
) -> None:
    """Put a project's measured commits into the order of its default branch.

    The order comes from GitHub, from the runners if the project trusts them, or from --clone. A
    commit that is not on the branch becomes unattested and leaves the baseline, whatever its bundle
    claims. The search for changes then starts again.
    """
    from perfledger_service.rendering.server.reorder import reorder_document
    from perfledger_service.settings.service import service_settings

    line: tuple[str, ...] = ()
    if clone is not None:
        from perfledger_service.usecases.inputs.clones import branch_of_clone

        line = branch_of_clone(clone)
    settings = service_settings()
    with open_store() as engine:
        from perfledger_service.github.client import open_github
        from perfledger_service.usecases.uploads.reorder import reorder as reorder_project

        order = reorder_project(
            engine,
            repository,
            commits=open_github(
                api_url=settings.github_api_url,
                token=settings.github_token,
                app_id=settings.github_app_id,
                private_key=settings.github_private_key,
            ),
            line=line,
            trust_runners=None if trust is None else trust is TrustedWord.RUNNERS,
            actor=Actor(name=getuser()),
        )
    output.write_document(order, reorder_document)
