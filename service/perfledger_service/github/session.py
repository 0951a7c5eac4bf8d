"""Credentials in, github3's sessions and authentications out: the only module with github3.

Its sessions and App authentication are used, its objects are not: they break whenever GitHub leaves
out a field that we never read. github3 has no types, so they end here.
"""

import logging
from typing import Any, cast

import github3.apps  # pyright: ignore[reportMissingTypeStubs] - they end here
import github3.session  # pyright: ignore[reportMissingTypeStubs] - they end here
from requests import Session
from requests.auth import AuthBase

from perfledger_service.errors import SettingsError

CONNECT_TIMEOUT_S = 4.0
READ_TIMEOUT_S = 20.0
API_VERSION = "2022-11-28"
# GitHub refuses a JWT that lives for more than 10 minutes by its own clock: half is left for skew.
JWT_SECONDS = 300

_apps = cast("Any", github3.apps)
_session = cast("Any", github3.session)


def new_session() -> Session:
    """Return a session with timeouts that speaks the version of the API we were written for."""
    # At DEBUG github3 and urllib3 log what they send.
    logging.getLogger("github3").setLevel(logging.INFO)
    logging.getLogger("urllib3").setLevel(logging.INFO)
    session: Session = _session.GitHubSession(
        default_connect_timeout=CONNECT_TIMEOUT_S, default_read_timeout=READ_TIMEOUT_S
    )
    session.headers.update(
        {
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": API_VERSION,
            "User-Agent": "perfledger",
        }
    )
    return session


def token_auth(token: str) -> AuthBase:
    """Return the authentication by a token, where one may write check runs: GitHub wants an App."""
    auth: AuthBase = _session.TokenAuth(token)
    return auth


def app_auth(app_id: str, private_key: str) -> AuthBase:
    """Return the authentication as the App itself, good for five minutes.

    The id goes in as text: PyJWT refuses a number. Raises SettingsError for a key that is none.
    """
    try:
        token = _apps.create_token(private_key.encode(), str(app_id), JWT_SECONDS)
    except Exception:  # a door: PyJWT and cryptography raise half a dozen kinds for a bad key
        msg = "PERFLEDGER_GITHUB_PRIVATE_KEY is not an RSA private key in PEM: copy it whole"
        raise SettingsError(msg) from None
    auth: AuthBase = _session.AppBearerTokenAuth(token, JWT_SECONDS)
    return auth


def installation_auth(token: str, expires_at: str) -> AuthBase:
    """Return the authentication as the App's installation on a repository, until it expires."""
    auth: AuthBase = _session.AppInstallationTokenAuth(token, expires_at)
    return auth
