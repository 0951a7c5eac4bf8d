"""The stand-in's App: its identity, its installations, and its registration by a manifest."""

import base64
import json
import secrets
import time
from collections.abc import Callable
from typing import Protocol
from urllib.parse import urlencode

from github_state import Document, Reply, State, refuse

SLUG = "perfledger"
JWT_SECONDS = 600
REPOSITORY_INSTALLATION = r"/repos/([\w.-]+/[\w.-]+)/installation"
MANIFEST_FIELDS = frozenset(
    (
        "name",
        "url",
        "hook_attributes",
        "redirect_url",
        "callback_urls",
        "public",
        "default_permissions",
        "default_events",
    )
)


class Request(Protocol):
    """The parts of a request that are read, and headers for the answer."""

    query: dict[str, list[str]]
    document: Document
    credential: str
    reply_headers: dict[str, str]


def check_jwt(state: State, request: Request) -> None:
    """Refuse a JWT as GitHub does, except by its signature, whose key is unknown here.

    Its times count only if the state has a clock: most tests have one of their own.
    """
    try:
        _, payload, _ = request.credential.split(".")
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        is_fine = isinstance(claims["iss"], str) and claims["exp"] - claims["iat"] <= JWT_SECONDS
        if state.now is not None and not claims["iat"] <= state.now() < claims["exp"]:
            refuse(401, "'Issued at' and 'Expiration time' claims must be around the present time")
    except (ValueError, KeyError):
        is_fine = False
    if not is_fine:
        refuse(401, "A JSON web token could not be decoded")


def get_app(state: State, request: Request) -> Reply:
    check_jwt(state, request)
    return 200, {"id": 1, "slug": SLUG, "name": SLUG}


def get_installation(state: State, request: Request, name: str) -> Reply:
    check_jwt(state, request)
    state.repository(name)
    return 200, {"id": 41, "app_slug": SLUG, **state.installation(name)}


def create_token(state: State, request: Request, _installation: str) -> Reply:
    check_jwt(state, request)
    if set(request.document.get("permissions", {})) - state.granted:
        refuse(422, "The permissions requested are not granted to this installation.")
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    return 201, {"token": "ghs_standInInstallationToken0000000000000", "expires_at": end}


def register(state: State, request: Request, _owner: str = "") -> Reply:
    """Take a manifest, as if the person confirmed it, and send the browser back with a code."""
    manifest = json.loads(request.document["manifest"])
    if set(manifest) - MANIFEST_FIELDS or not manifest.get("url"):
        refuse(422, "Invalid GitHub App configuration")
    code = secrets.token_hex(20)
    state.registrations[code] = manifest
    reply = {"code": code, "state": request.query["state"][0]}
    request.reply_headers["Location"] = f"{manifest['redirect_url']}?{urlencode(reply)}"
    return 302, None


def convert(state: State, _request: Request, code: str) -> Reply:
    """Answer with the secrets of a registered App, only once."""
    manifest = state.registrations.pop(code, None)
    if manifest is None:
        refuse(404, "Not Found")
    slug = manifest["name"].lower().replace(" ", "-").replace(".", "-")
    return 201, {
        "id": 2,
        "slug": slug,
        "node_id": "MDxOkludGVncmF0aW9uMQ==",
        "name": manifest["name"],
        "html_url": f"https://github.example/apps/{slug}",
        "permissions": manifest["default_permissions"],
        "events": manifest["default_events"],
        "client_id": "Iv1.standin",
        "client_secret": "stand-in client secret",
        "webhook_secret": "stand-in webhook secret",
        "pem": "-----BEGIN RSA PRIVATE KEY-----\nstand-in\n-----END RSA PRIVATE KEY-----\n",
    }


APP_ROUTES: tuple[tuple[str, str, Callable[..., Reply]], ...] = (
    ("GET", r"/app", get_app),
    ("POST", r"/app/installations/(\d+)/access_tokens", create_token),
    ("GET", REPOSITORY_INSTALLATION, get_installation),
    ("POST", r"/settings/apps/new", register),
    ("POST", r"/organizations/([\w-]+)/settings/apps/new", register),
    ("POST", r"/app-manifests/(\w+)/conversions", convert),
)
