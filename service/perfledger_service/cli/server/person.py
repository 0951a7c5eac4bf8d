"""Lists who signed in, grants them roles, and signs them out."""

from datetime import UTC, datetime
from functools import partial
from getpass import getuser
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument
from perfledger_service.cli.option_values import Repository
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import open_store
from perfledger_service.values.people.person import Actor, Role

Name = Annotated[
    str,
    argument(
        "login on GitHub, or proxy: followed by the name that the proxy sends", metavar="PERSON"
    ),
]


@command(examples=("perfledger server person list", "perfledger server person list --json"))
def list_people(*, output: DocumentOutput) -> None:
    """List who signed in, and the roles that were granted to them.

    Roles that come from a repository's permissions on GitHub are not listed.
    """
    from perfledger_service.rendering.server.person import people_document

    with open_store() as engine:
        from perfledger_service.usecases.people.roles import list_grants
        from perfledger_service.usecases.people.sign_in import list_persons

        people, grants = list_persons(engine), list_grants(engine)
    output.write_document(people, lambda rows: people_document(rows, grants))


@command(
    examples=(
        "perfledger server person grant alice octo/models maintainer",
        "perfledger server person grant proxy:bob octo/models viewer --json",
    )
)
def grant(
    name: Name,
    repository: Repository,
    role: Annotated[Role, argument("viewer, maintainer or admin", metavar="ROLE")],
    *,
    output: DocumentOutput,
) -> None:
    """Grant a role in a project to a person who signed in once.

    A person has this role or the one from the repository's permissions on GitHub, whichever is
    higher.
    """
    from perfledger_service.rendering.server.person import role_document

    with open_store() as engine:
        from perfledger_service.usecases.people.roles import grant_role

        actor = Actor(name=getuser())
        grant_role(engine, name, repository, role, actor=actor, now=datetime.now(UTC))
    output.write_document(role, partial(role_document, name, repository))


@command(
    examples=(
        "perfledger server person revoke alice octo/models",
        "perfledger server person revoke proxy:bob octo/models --json",
    )
)
def revoke(name: Name, repository: Repository, *, output: DocumentOutput) -> None:
    """Revoke the role that was granted to a person in a project.

    A role that comes from the repository's permissions must be revoked on GitHub; it ends within
    five minutes.
    """
    from perfledger_service.rendering.server.person import role_document

    with open_store() as engine:
        from perfledger_service.usecases.people.roles import revoke_role

        actor = Actor(name=getuser())
        revoke_role(engine, name, repository, actor=actor, now=datetime.now(UTC))
    output.write_document(None, partial(role_document, name, repository))


@command(
    examples=(
        "perfledger server person sign-out alice",
        "perfledger server person sign-out proxy:bob --json",
    )
)
def sign_out(name: Name, *, output: DocumentOutput) -> None:
    """End all sessions of a person, in every browser."""
    from perfledger_service.rendering.server.person import ended_sessions_document

    with open_store() as engine:
        from perfledger_service.usecases.people.sign_in import sign_out_everywhere

        count = sign_out_everywhere(
            engine, name, actor=Actor(name=getuser()), now=datetime.now(UTC)
        )
    output.write_document(count, partial(ended_sessions_document, name))
