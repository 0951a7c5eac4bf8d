"""Registers the service's GitHub App."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.output import DocumentOutput
from perfledger_service.cli.server_modules import server_modules


@command(
    examples=(
        "perfledger server app perfledger.env",
        "perfledger server app perfledger.env --organization octo --json",
    )
)
def app(
    file: Annotated[Path, argument("a new file for the App's settings", metavar="FILE")],
    *,
    organization: Annotated[
        str, how("organization that owns the App, not your account", metavar="NAME")
    ] = "",
    name: Annotated[str, how("name of the App, unique on GitHub", metavar="NAME")] = "",
    port: Annotated[int, how("loopback port of the form; 0 picks one", metavar="PORT")] = 8766,
    output: DocumentOutput,
) -> None:
    """Register the service's GitHub App, by one confirmation in a browser.

    PERFLEDGER_PUBLIC_URL is the address at which GitHub reaches the service,
    PERFLEDGER_GITHUB_API_URL the API of that GitHub. The App gets its permissions, its webhook and
    sign-in. Its secrets are written to the file, which only its owner may read. The browser must
    reach this machine's loopback: from another machine, forward the port first with ssh -L
    8766:127.0.0.1:8766 HOST.
    """
    from perfledger_service.settings.service import service_settings

    with server_modules():
        from perfledger_service.github.app.manifest import app_manifest, registration_url
        from perfledger_service.rendering.server.app import app_document, end_page, form_page
        from perfledger_service.usecases.server.app import app_name, register_app
        from perfledger_service.web.service_pages.app_callback import AppCallback, app_callback
    settings = service_settings()
    chosen = app_name(settings, name)

    def form(server: AppCallback) -> str:
        return form_page(
            app_manifest(
                name=chosen, public_url=settings.public_url, redirect_url=server.redirect_url
            ),
            registration_url=registration_url(
                settings.github_api_url, organization=organization, state=server.state
            ),
            organization=organization,
        )

    with app_callback(port, form_page=form, end_page=end_page()) as server:

        def wait_for_code() -> str:
            typer.echo(f"open {server.url} in a browser, and confirm on GitHub", err=True)
            return server.wait_for_code()

        registered = register_app(settings, file, wait_for_code=wait_for_code)
    output.write_document(registered, partial(app_document, path=str(file)))
