"""Revokes tokens."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor


@command(
    examples=(
        "perfledger server token revoke pl_0a1b2c3d",
        "perfledger server token revoke pl_0a1b2c3d --json",
        "PERFLEDGER_DATABASE_URL=sqlite:///ci.db perfledger server token revoke pl_0a1b2c3d",
    )
)
def revoke(
    prefix: Annotated[
        str, argument("beginning of the token: pl_ and 8 characters", metavar="PREFIX")
    ],
    *,
    output: DocumentOutput,
) -> None:
    """Revoke the token of a project or of a person."""
    from perfledger_service.rendering.server.token import revoked_token_document

    with open_store() as engine:
        from perfledger_service.usecases.server.token import revoke_token

        revoke_token(engine, prefix, actor=Actor(name=getuser()), now=datetime.now(UTC))
    output.write_document(prefix, revoked_token_document)
