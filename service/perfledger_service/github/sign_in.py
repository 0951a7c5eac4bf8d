"""Signs people in by the web flow of a GitHub App: GitHub identifies the browser's account.

The person's token is used once, to read the account, and discarded.
"""

import hmac
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import SecretStr
from requests import PreparedRequest
from requests.auth import AuthBase

from perfledger_service.errors import RefusedError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.documents import ACCOUNT, USER_TOKEN, decode_answer
from perfledger_service.github.session import token_auth

MAX_REASON = 60  # of GitHub's short error names, such as bad_verification_code


@dataclass(frozen=True, slots=True)
class SignedInAccount:
    """A GitHub account; its number does not change when it is renamed."""

    id: int
    login: str


class SignInProvider(Protocol):
    """Service at which people prove their identity."""

    @property
    def seal_key(self) -> bytes:
        """Return 32 secret bytes, the same in every process of the service."""
        ...

    def authorize_url(self, *, state: str, challenge: str) -> str:
        """Return the page to which a browser is sent."""
        ...

    def account(self, code: str, *, verifier: str) -> SignedInAccount:
        """Return the account that a code from that page identifies."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class NoAuthentication(AuthBase):
    """No authentication: the App's secret is in the request's body."""

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Return the request unchanged."""
        return request


class GitHubSignIn:
    """Web flow of an App on github.com, on a company's subdomain or on GitHub Enterprise Server."""

    def __init__(
        self, api_url: str, *, client_id: str, client_secret: SecretStr, public_url: str
    ) -> None:
        self._client_id = client_id
        self._client_secret = client_secret
        self._callback_url = f"{public_url}/sign-in/callback"
        self._root = web_root(api_url)
        self._api = GitHubApi(api_url)
        self._web = GitHubApi(self._root, write_interval_s=0.0)

    @property
    def seal_key(self) -> bytes:
        """Return a key, derived from the App's client secret, that seals a sign-in's state."""
        secret = self._client_secret.get_secret_value().encode()
        return hmac.digest(secret, b"perfledger sign-in", "sha256")

    def authorize_url(self, *, state: str, challenge: str) -> str:
        """Return GitHub's page that asks the person and redirects back with a code."""
        query = {
            "client_id": self._client_id,
            "redirect_uri": self._callback_url,
            "state": state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self._root}/login/oauth/authorize?{urlencode(query)}"

    def account(self, code: str, *, verifier: str) -> SignedInAccount:
        """Return the account that a code identifies.

        Raises RefusedError for a code that GitHub does not accept, and GitHubError if GitHub does
        not answer.
        """
        request = {
            "client_id": self._client_id,
            "client_secret": self._client_secret.get_secret_value(),
            "code": code,
            "redirect_uri": self._callback_url,
            "code_verifier": verifier,
        }
        answer = self._web.request(
            "POST", "login/oauth/access_token", auth=NoAuthentication(), json=request
        )
        token = decode_answer(answer, USER_TOKEN)
        if not token.access_token:
            reason = token.error[:MAX_REASON] or "no reason given"
            msg = f"GitHub did not accept the sign-in ({reason}): sign in again"
            raise RefusedError(msg)
        account = decode_answer(
            self._api.request("GET", "user", auth=token_auth(token.access_token)), ACCOUNT
        )
        return SignedInAccount(account.id, account.login)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()
        self._web.close()


def web_root(api_url: str) -> str:
    """Return the root of GitHub's pages for the root of its API.

    https://api.github.com and https://api.octo.ghe.com are hosts only for the API; GitHub
    Enterprise Server has the path /api/v3.
    """
    parts = urlsplit(api_url)
    path = parts.path.rstrip("/").removesuffix("/api/v3")
    return urlunsplit((parts.scheme, parts.netloc.removeprefix("api."), path, "", ""))
