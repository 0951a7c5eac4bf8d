"""Fetches the spreads of pairs that the service knows."""

from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.output import Format, Formats, Output
from perfledger_service.cli.service_target import ServiceUrl, service_at


@command(
    examples=(
        "perfledger history spreads --output spreads.json",
        "perfledger history spreads --upload-url http://127.0.0.1:8765",
    )
)
def spreads(
    *, upload_url: ServiceUrl = None, output: Annotated[Output, Formats(Format.JSON)]
) -> None:
    """Fetch the spread of the pairs of earlier checks, for `perfledger check --spreads`.

    Run as a separate step, it lets the check run without the service's token.
    """
    from perfledger_service.usecases.history.spreads import spreads_of_service

    history = spreads_of_service(service_at(upload_url))
    output.write(history, {Format.JSON: lambda spreads: spreads.to_json().decode() + "\n"})
    typer.echo(f"spreads of {len(history.priors)} series", err=True)
