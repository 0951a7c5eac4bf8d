"""Defines the port that tells what accounts may do with repositories, and its value."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPermission:
    """What an account may do with a repository, in GitHub's words: "none" for nothing.

    `account_id` is the number of the account that has the login now, None where there is none.
    """

    permission: str
    account_id: int | None


class AccountPermissions(Protocol):
    """Where permissions are asked for. `repository` is owner/name; may raise GitHubError."""

    def account_permission(self, repository: str, login: str) -> AccountPermission:
        """Return what the account with a login may do with a repository."""
        ...

    def repository_id(self, repository: str) -> int:
        """Return the number of the repository that has a name now."""
        ...
