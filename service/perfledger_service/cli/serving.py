"""Commands of whoever operates the service."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfledger_service.errors import PerfledgerError
from perfledger_service.pages.escape import clean
from perfledger_service.settings import service_settings

MISSING = "the service is not installed here: pip install 'perfledger[service]'"


@contextmanager
def server_modules() -> Generator[None]:
    """Say what to install where a module that only the service needs is missing.

    A module of our own that is missing is a bug and stays one.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("perfledger"):
            raise
        raise PerfledgerError(MISSING) from error


def serve(
    *,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="port to listen on; 0 takes a free one")] = 8765,
) -> None:
    """Run the service until it is interrupted: uploads, comments, checks and pages.

    Pages have no login in this version: listen on loopback, or put a proxy that has one in front.
    """
    with server_modules():
        from perfledger_service.web.serving import serve as run  # noqa: PLC0415 - server modules
    run(service_settings(), host=host, port=port)


def database_upgrade() -> None:
    """Bring the database to the newest version; safe to repeat."""
    with server_modules():
        from perfledger_service.store.migrating import upgrade  # noqa: PLC0415 - server modules

    upgrade(service_settings().database_url)
    typer.echo("the database is up to date")


def project_add(
    repository: Annotated[str, typer.Argument(help="owner/name, as GitHub writes it")],
) -> None:
    """Let a repository upload; prints its token, which is not stored and not shown again."""
    with server_modules():
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415 - as above
        from perfledger_service.usecases.projects import add_project, new_token  # noqa: PLC0415

    token = new_token()
    with open_current(service_settings().database_url) as engine:
        add_project(engine, repository, token=token, now=datetime.now(UTC))
    typer.echo(token)


def project_list() -> None:
    """List the projects and their tokens by prefix."""
    with server_modules():
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415 - as above
        from perfledger_service.usecases.projects import list_projects  # noqa: PLC0415

    table = Table("project", "token", "created", "revoked", box=None)
    with open_current(service_settings().database_url) as engine:
        for project, tokens in list_projects(engine):
            for token in tokens:
                revoked = token.revoked_at.date().isoformat() if token.revoked_at else ""
                created = token.created_at.date().isoformat()
                name = Text(clean(project.repository, limit=200))
                table.add_row(name, f"{token.prefix}_…", created, revoked)
    Console().print(table)


def project_revoke(
    prefix: Annotated[str, typer.Argument(help="the token's beginning: pl_ and 8 characters")],
) -> None:
    """Make a token useless from now on."""
    with server_modules():
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415 - as above
        from perfledger_service.usecases.projects import revoke_token  # noqa: PLC0415

    with open_current(service_settings().database_url) as engine:
        revoke_token(engine, prefix, now=datetime.now(UTC))
    typer.echo(f"{prefix} is revoked")
