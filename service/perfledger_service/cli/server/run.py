"""Runs the service."""

from typing import Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import how
from perfledger_service.cli.server_modules import server_modules


@command(examples=("perfledger server run", "perfledger server run --host 127.0.0.1 --port 0"))
def run(
    *,
    host: Annotated[str, how("address to listen on", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, how("port to listen on; 0 picks a free one", metavar="PORT")] = 8765,
) -> None:
    """Run the service until it is interrupted: uploads, comments, checks and pages.

    On an address that others can reach, it starts only if people can sign in, or with
    PERFLEDGER_PUBLIC_READ=true. Every change needs a token or a maintainer.
    """
    from perfledger_service.settings.service import service_settings

    with server_modules():
        from perfledger_service.web.server import serve
    serve(service_settings(), host=host, port=port)
