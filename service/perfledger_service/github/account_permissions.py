"""Defines the port that reads accounts' permissions on repositories, and its value."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPermission:
    """What an account may do with a repository, in GitHub's words ("none" for nothing).

    `account_id` is the number of the account that has the login now, None if no account has it.
    """

    permission: str
    account_id: int | None


class AccountPermissions(Protocol):
    """Source of accounts' permissions. `repository` is owner/name; may raise GitHubError."""

    def account_permission(self, repository: str, login: str) -> AccountPermission:
        """Return what the account with a login may do with a repository."""
        ...

    def repository_id(self, repository: str) -> int:
        """Return the number of the repository that has this name now."""
        ...
