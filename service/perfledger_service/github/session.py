"""Creates github3's sessions and authentications; no other module uses github3.

Its objects are not used: they break if GitHub omits a field, even one that we never read. github3
has no types, so `Any` ends here.
"""

import logging
from datetime import datetime, timedelta
from typing import Any, cast

import github3.session  # pyright: ignore[reportMissingTypeStubs] - untyped, see above
from requests import Session
from requests.auth import AuthBase

from perfledger_service.errors import SettingsError
from perfledger_service.github.signed_tokens import sign_app_token

CONNECT_TIMEOUT_S = 4.0
READ_TIMEOUT_S = 20.0  # GitHub itself gives up after ten seconds
API_VERSION = "2022-11-28"
# GitHub refuses a JWT that lives for more than 10 minutes by its clock; half of that allows for
# clock differences.
JWT_SECONDS = 300

_session = cast("Any", github3.session)


def new_session() -> Session:
    """Return a session with timeouts and a fixed version of the API."""
    # At DEBUG, github3 and urllib3 log what they send.
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
    """Return the authentication with a token; on GitHub only Apps may write check runs."""
    auth: AuthBase = _session.TokenAuth(token)
    return auth


def app_auth(app_id: str, private_key: str, *, now: datetime) -> AuthBase:
    """Return the authentication as the App itself, valid for five minutes.

    Raises SettingsError for an invalid key.
    """
    try:
        token = sign_app_token(
            app_id, private_key, lifetime=timedelta(seconds=JWT_SECONDS), now=now
        )
    except Exception:  # PyJWT and cryptography raise half a dozen types for an invalid key
        msg = "PERFLEDGER_GITHUB_PRIVATE_KEY is not an RSA private key in PEM: copy all of it"
        raise SettingsError(msg) from None
    auth: AuthBase = _session.AppBearerTokenAuth(token, JWT_SECONDS)
    return auth


def installation_auth(token: str, expires_at: datetime) -> AuthBase:
    """Return the authentication as the App's installation on a repository, until it expires."""
    auth: AuthBase = _session.AppInstallationTokenAuth(token, expires_at.isoformat())
    return auth
