"""Authenticates as a GitHub App or with a token, and reads the login of our comments."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar
from urllib.parse import quote

import msgspec
from requests.auth import AuthBase

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.documents import (
    APP,
    CREATED,
    INSTALLATION_TOKEN,
    USER,
    InstallationToken,
    decode_answer,
)
from perfledger_service.github.session import app_auth, installation_auth, token_auth

# How long before its end an installation token is replaced. Installation tokens live for an hour
# and github3 does not renew them: they are replaced this long before they expire, which also covers
# clock differences.
RENEWAL_MARGIN = timedelta(minutes=5)
# The permissions that a token gets at most; the App may have more.
PERMISSIONS = {
    "metadata": "read",
    "contents": "read",  # which commits are on the default branch; optional
    "issues": "write",  # notices as issues; optional
    "checks": "write",
    "pull_requests": "write",
}
# Permissions to leave out if they were not granted, tried in this order.
_LEFT_OUT = ((), ("issues",), ("contents",), ("issues", "contents"))
_UNAUTHORIZED, _NOT_GRANTED = 401, 422
_FAR = timedelta(days=366)
_Document = TypeVar("_Document")


@dataclass(frozen=True, slots=True)
class RepositoryAccess:
    """Authentication of requests about a repository, and the installation whose limits they use.

    Repositories of one installation share its rate limits.
    """

    auth: AuthBase
    installation: str


class Authentication(Protocol):
    """Identity of the service on GitHub."""

    def access(self, repository: str) -> RepositoryAccess:
        """Return the access to a repository."""
        ...

    def drop(self, repository: str) -> None:
        """Forget a repository's token because GitHub refused it."""
        ...

    def me(self) -> str:
        """Return the login under which our comments are posted."""
        ...


class TokenAuthentication:
    """A personal token, the same for all repositories."""

    def __init__(self, api: GitHubApi, token: str) -> None:
        self._api = api
        self._auth = token_auth(token)
        self._login = ""

    def access(self, repository: str) -> RepositoryAccess:  # noqa: ARG002 - the port's signature
        """Return the token's access."""
        return RepositoryAccess(auth=self._auth, installation="")

    def drop(self, repository: str) -> None:
        """Keep the token: only the operator can replace it."""

    def me(self) -> str:
        """Return the login of the token's owner, requested once."""
        if not self._login:
            self._login = decode_answer(
                self._api.request("GET", "user", auth=self._auth), USER
            ).login
        return self._login


class AppAuthentication:
    """A GitHub App with a token per repository, limited to that repository and PERMISSIONS."""

    def __init__(
        self,
        api: GitHubApi,
        *,
        app_id: str,
        private_key: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        app_auth(
            app_id, private_key, now=now()
        )  # an invalid key fails at start, not at the first comment
        self._api = api
        self._app_id = app_id
        self._private_key = private_key
        self._now = now
        self._login = ""
        self._tokens: dict[str, tuple[datetime, RepositoryAccess]] = {}
        self._lock = threading.Lock()

    def access(self, repository: str) -> RepositoryAccess:
        """Return the access of the App's installation on a repository, renewed before it ends."""
        with self._lock:
            expires_at, access = self._tokens.get(
                repository, (datetime.min.replace(tzinfo=UTC), None)
            )
            if access is None or expires_at - self._github_now() < RENEWAL_MARGIN:
                expires_at, access = self._new_token(repository)
                self._tokens[repository] = expires_at, access
            return access

    def drop(self, repository: str) -> None:
        """Forget a repository's token: the next request gets a new one."""
        with self._lock:
            self._tokens.pop(repository, None)

    def me(self) -> str:
        """Return the login of the App's comments, name[bot]; the name is requested once."""
        if not self._login:
            self._login = f"{self._as_app('GET', 'app', APP).slug}[bot]"
        return self._login

    def _new_token(self, repository: str) -> tuple[datetime, RepositoryAccess]:
        try:
            installation = self._as_app("GET", f"repos/{quote(repository)}/installation", CREATED)
        except GitHubError as error:
            if error.github_status == 404:  # noqa: PLR2004 - not found
                msg = f"the GitHub App is not installed on {repository}: install it there"
                raise GitHubError(msg, is_transient=True) from None
            raise
        path = f"app/installations/{installation.id}/access_tokens"
        token = self._granted_token(path, repository.partition("/")[2])
        # github3 compares the end with our clock, which may be wrong. `access` renews the token.
        auth = installation_auth(token.token, token.expires_at + _FAR)
        return token.expires_at, RepositoryAccess(auth=auth, installation=str(installation.id))

    def _granted_token(self, path: str, name: str) -> InstallationToken:
        """Return a token for a repository, without optional permissions that were not granted."""
        for left_out in _LEFT_OUT:
            rights = {one: PERMISSIONS[one] for one in PERMISSIONS if one not in left_out}
            request = {"repositories": [name], "permissions": rights}
            try:
                return self._as_app("POST", path, INSTALLATION_TOKEN, request)
            except GitHubError as error:
                if error.github_status != _NOT_GRANTED or left_out == _LEFT_OUT[-1]:
                    raise
        msg = "unreachable: the last attempt returns or raises"
        raise AssertionError(msg)

    def app_auth(self) -> AuthBase:
        """Return the authentication as the App itself."""
        return app_auth(self._app_id, self._private_key, now=self._github_now())

    def _github_now(self) -> datetime:
        """Return the time by GitHub's clock, which decides what is valid."""
        return self._now() + self._api.clock_offset

    def _as_app(
        self,
        method: str,
        path: str,
        document: msgspec.json.Decoder[_Document],
        json: Mapping[str, object] | None = None,
    ) -> _Document:
        offset = self._api.clock_offset
        try:
            response = self._api.request(method, path, auth=self.app_auth(), json=json)
        except GitHubError as error:
            if error.github_status != _UNAUTHORIZED or self._api.clock_offset == offset:
                raise
            # Our clock is wrong, as the answer has just shown.
            response = self._api.request(method, path, auth=self.app_auth(), json=json)
        return decode_answer(response, document)
