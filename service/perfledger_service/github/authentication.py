"""Credentials in, the authentication for a repository and the login that we are seen under out."""

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar
from urllib.parse import quote

from requests.auth import AuthBase

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import Api
from perfledger_service.github.documents import App, InstallationToken, Numbered, User, read
from perfledger_service.github.session import app_auth, installation_auth, token_auth

# Installation tokens live for an hour and are not renewed by github3: a new one is made this long
# before the end, which also bridges clocks that differ.
RENEWAL_MARGIN = timedelta(minutes=5)
# What a token may do, at most; the App may be allowed more.
PERMISSIONS = {"metadata": "read", "checks": "write", "pull_requests": "write"}
_Document = TypeVar("_Document")


class Authentication(Protocol):
    """Who we are to GitHub."""

    def auth(self, repository: str) -> AuthBase:
        """Return what to sign requests about a repository with."""
        ...

    def me(self) -> str:
        """Return the login that our comments are written by."""
        ...


class TokenAuthentication:
    """Somebody's token: the same for all repositories."""

    def __init__(self, api: Api, token: str) -> None:
        self._api = api
        self._auth = token_auth(token)
        self._login = ""

    def auth(self, repository: str) -> AuthBase:  # noqa: ARG002 - the port's signature
        """Return the token's authentication."""
        return self._auth

    def me(self) -> str:
        """Ask once whose token it is."""
        if not self._login:
            self._login = read(self._api.request("GET", "user", auth=self._auth), User).login
        return self._login


class AppAuthentication:
    """A GitHub App: a token for each repository, narrowed to it and to what is needed there."""

    def __init__(
        self,
        api: Api,
        *,
        app_id: str,
        private_key: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        app_auth(app_id, private_key)  # a wrong key is said at the start, not at the first comment
        self._api = api
        self._app_id = app_id
        self._private_key = private_key
        self._now = now
        self._login = ""
        self._tokens: dict[str, tuple[datetime, AuthBase]] = {}
        self._lock = threading.Lock()

    def auth(self, repository: str) -> AuthBase:
        """Return the authentication of the App's installation on a repository, fresh enough."""
        with self._lock:
            expires_at, auth = self._tokens.get(
                repository, (datetime.min.replace(tzinfo=UTC), None)
            )
            if auth is None or expires_at - self._now() < RENEWAL_MARGIN:
                expires_at, auth = self._new_token(repository)
                self._tokens[repository] = expires_at, auth
            return auth

    def me(self) -> str:
        """Ask once for the App's name: its comments are written by name[bot]."""
        if not self._login:
            self._login = f"{self._as_app('GET', 'app', App).slug}[bot]"
        return self._login

    def _new_token(self, repository: str) -> tuple[datetime, AuthBase]:
        try:
            found = self._as_app("GET", f"repos/{quote(repository)}/installation", Numbered)
        except GitHubError as error:
            if error.github_status == 404:  # noqa: PLR2004 - not found
                msg = f"the GitHub App is not installed on {repository}: install it there"
                raise GitHubError(msg) from None
            raise
        made = self._as_app(
            "POST",
            f"app/installations/{found.id}/access_tokens",
            InstallationToken,
            {"repositories": [repository.partition("/")[2]], "permissions": PERMISSIONS},
        )
        expires_at = datetime.fromisoformat(made.expires_at)
        return expires_at, installation_auth(made.token, made.expires_at)

    def _as_app(
        self,
        method: str,
        path: str,
        document: type[_Document],
        json: Mapping[str, object] | None = None,
    ) -> _Document:
        auth = app_auth(self._app_id, self._private_key)
        return read(self._api.request(method, path, auth=auth, json=json), document)
