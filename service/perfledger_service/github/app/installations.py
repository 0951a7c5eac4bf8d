"""Reads the installations of a GitHub App: their permissions and the events that they send."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Protocol
from urllib.parse import quote

import msgspec
from requests.auth import AuthBase

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.documents import GitHubUser, decode_answer
from perfledger_service.values.service_views.admin import AppInstallation

NOT_FOUND = 404
MAX_NAMES = 100  # of permissions and events; GitHub has fewer


class _InstallationDocument(msgspec.Struct):
    id: int
    account: GitHubUser | None = None
    permissions: Annotated[dict[str, str], msgspec.Meta(max_length=MAX_NAMES)] = {}
    events: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_NAMES)] = ()
    suspended_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


_INSTALLATION = msgspec.json.Decoder(_InstallationDocument)


class AppInstallations(Protocol):
    """Source of the App's installations."""

    def installation(self, repository: str) -> AppInstallation | None:
        """Return the installation on a repository, None without one; raise GitHubError."""
        ...


class GitHubInstallations:
    """AppInstallations on GitHub."""

    def __init__(self, api: GitHubApi, app_auth: Callable[[], AuthBase]) -> None:
        self._api = api
        self._app_auth = app_auth

    def installation(self, repository: str) -> AppInstallation | None:
        """Return the installation on a repository, None without one; raise GitHubError."""
        path = f"repos/{quote(repository)}/installation"
        try:
            response = self._api.request("GET", path, auth=self._app_auth())
        except GitHubError as error:
            if error.github_status == NOT_FOUND:
                return None
            raise
        document = decode_answer(response, _INSTALLATION)
        return AppInstallation(
            id=document.id,
            account="" if document.account is None else document.account.login,
            permissions=document.permissions,
            events=document.events,
            suspended_at=document.suspended_at,
            rate_limit=self._api.rate_limit(str(document.id)),
        )
