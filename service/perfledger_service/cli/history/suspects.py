"""Lists the A/B runs that the service requests."""

from functools import partial
from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.output import Format, Formats, Output, document_formats
from perfledger_service.cli.service_target import ServiceUrl, service_at


@command(examples=("perfledger history suspects", "perfledger history suspects --json"))
def suspects(
    *, upload_url: ServiceUrl = None, output: Annotated[Output, Formats(Format.SHELL, Format.JSON)]
) -> None:
    """List the commits of the default branch that need an A/B run, with a command for each.

    The output is a shell script: `perfledger history suspects | sh` runs them all, and the bundle
    of each check confirms or clears its suspect. Exits with 0, with or without requests.
    """
    from perfledger_service.rendering.history.suspects import (
        suspects_document,
        suspects_script,
    )
    from perfledger_service.usecases.history.suspects import suspects_of_service

    target = service_at(upload_url)
    output.write(
        suspects_of_service(target),
        document_formats(partial(suspects_document, url=target.url))
        | {Format.SHELL: partial(suspects_script, url=target.url)},
    )
