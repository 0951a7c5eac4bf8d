"""Renders a GitHub App's registration: the form that leads to GitHub, and the next steps."""

import json
import shlex
from collections.abc import Mapping

from perfledger_service.rendering.layout.document import Document, Preformatted
from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.service_views.registered_app import RegisteredApp


def form_page(manifest: Mapping[str, object], *, registration_url: str, organization: str) -> str:
    """Return the page with the button that sends a manifest to GitHub."""
    return render(
        "html/app_form.html.j2",
        manifest=manifest,
        manifest_text=json.dumps(manifest),
        registration_url=registration_url,
        organization=organization,
    )


def end_page() -> str:
    """Return the page that a browser shows once GitHub has sent it back."""
    return render("html/app_end.html.j2")


def app_document(app: RegisteredApp, *, path: str) -> Document:
    """Return a new App, the file of its settings, and the next steps."""
    shell_path = shlex.quote(path if "/" in path else f"./{path}")
    text = (
        f"{app.name} is registered: {app.url}\n"
        f"{path} has its settings, and only its owner may read it.\n\n"
        f"1. Install the App on your repositories:\n   {app.installation_url}\n"
        f"2. Start the service with the settings:\n"
        f"   set -a; . {shell_path}; perfledger server run"
    )
    return Document(
        name="perfledger-app",
        facts={
            "id": app.id,
            "name": app.name,
            "url": app.url,
            "installation_url": app.installation_url,
            "client_id": app.client_id,
            "file": path,
        },
        blocks=(Preformatted(text),),
    )
