"""The command that says which commits deserve an A/B of their own."""

from enum import StrEnum
from typing import Annotated

import typer

from perfledger_service.errors import UsageError
from perfledger_service.pages.asked import suspects_json, suspects_text
from perfledger_service.settings import upload_settings
from perfledger_service.usecases import bundles
from perfledger_service.usecases.recalling import suspects_at


class SuspectsFormat(StrEnum):
    """How suspects are written."""

    TEXT = "text"
    JSON = "json"


def suspects(
    *,
    url: Annotated[str | None, typer.Option(help="the service's root")] = None,
    form: Annotated[
        SuspectsFormat, typer.Option("--format", help="how to write them")
    ] = SuspectsFormat.TEXT,
) -> None:
    """Say which commits of the default branch deserve an A/B, each with its command.

    The lines that do not begin with "#" are for a shell: `perfledger suspects | sh` measures them
    all. The bundle of such a check settles its suspicion. Exits with 0 whatever is asked for.
    """
    target = bundles.target_of(url, upload_settings())
    if target is None:
        msg = "no service to ask: pass --url or set PERFLEDGER_UPLOAD_URL"
        raise UsageError(msg)
    found = suspects_at(target)
    match form:
        case SuspectsFormat.TEXT:
            typer.echo(suspects_text(found, url=target.url))
        case SuspectsFormat.JSON:
            typer.echo(suspects_json(found, url=target.url))
