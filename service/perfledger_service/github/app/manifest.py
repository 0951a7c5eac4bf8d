"""Registers a GitHub App from a manifest: one confirmation in a browser, and no form to fill in.

Source: https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, urlencode

import msgspec
from pydantic import SecretStr

from perfledger_service.errors import GitHubError, RefusedError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.authentication import PERMISSIONS
from perfledger_service.github.documents import decode_answer
from perfledger_service.github.sign_in import NoAuthentication, web_root
from perfledger_service.values.service_views.registered_app import RegisteredApp

MAX_NAME = 34  # characters of an App's name, which is unique on GitHub
# Commands in comments, merges, and merge queues; the event of merge queues needs a permission to
# read them.
EVENTS = ("issue_comment", "merge_group", "pull_request")
EVENT_PERMISSIONS = {"merge_queues": "read"}
_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
_NOT_FOUND, _INVALID = 404, 422


@dataclass(frozen=True, slots=True, kw_only=True)
class AppSecrets:
    """The secrets of a new App, which GitHub sends once."""

    client_secret: SecretStr
    webhook_secret: SecretStr | None  # GitHub's schema does not allow null
    private_key: SecretStr


class _ConversionDocument(msgspec.Struct):
    id: int
    name: str
    html_url: str
    client_id: str
    client_secret: str
    webhook_secret: str | None
    pem: str


_CONVERSION = msgspec.json.Decoder(_ConversionDocument)


def app_manifest(*, name: str, public_url: str, redirect_url: str) -> dict[str, object]:
    """Return the manifest of a private App: its permissions, webhook and sign-in.

    `redirect_url` is where GitHub sends the browser with a code once the App is registered.
    """
    return {
        "name": name,
        "url": public_url,
        "hook_attributes": {"url": f"{public_url}/webhooks/github", "active": True},
        "redirect_url": redirect_url,
        "callback_urls": [f"{public_url}/sign-in/callback"],
        "public": False,
        "default_permissions": PERMISSIONS | EVENT_PERMISSIONS,
        "default_events": list(EVENTS),
    }


def registration_url(api_url: str, *, organization: str, state: str) -> str:
    """Return GitHub's page that takes a manifest; the person's own page without an organization."""
    owner = f"/organizations/{quote(organization, safe='')}" if organization else ""
    return f"{web_root(api_url)}{owner}/settings/apps/new?{urlencode({'state': state})}"


def is_code(text: str) -> bool:
    """Return whether a text has the form of a code from GitHub."""
    return _CODE.fullmatch(text) is not None


def exchange_code(api_url: str, code: str) -> tuple[RegisteredApp, AppSecrets]:
    """Exchange a code for the new App; GitHub accepts a code once, within an hour.

    Raises RefusedError for a code that GitHub does not accept, and GitHubError if GitHub does not
    answer.
    """
    api = GitHubApi(api_url, write_interval_s=0.0)
    try:
        answer = api.request(
            "POST", f"app-manifests/{quote(code, safe='')}/conversions", auth=NoAuthentication()
        )
    except GitHubError as error:
        if error.github_status in {_NOT_FOUND, _INVALID}:
            msg = (
                "GitHub did not accept the code of the new App, which works once and for an hour: "
                "delete the App in GitHub's settings, and run the command again"
            )
            raise RefusedError(msg) from None
        raise
    finally:
        api.close()
    document = decode_answer(answer, _CONVERSION)
    app = RegisteredApp(
        id=document.id,
        name=document.name,
        url=document.html_url,
        client_id=document.client_id,
    )
    return app, AppSecrets(
        client_secret=SecretStr(document.client_secret),
        webhook_secret=SecretStr(document.webhook_secret) if document.webhook_secret else None,
        private_key=SecretStr(document.pem),
    )
