"""Limits how often GitHub is asked for a person's roles, so that nobody exhausts its rate limit."""

import threading
import time
from collections import Counter
from collections.abc import Callable

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_service.errors import GitHubError
from perfledger_service.github.account_permissions import AccountPermission, AccountPermissions

# Of GitHub's 5,000 requests an hour; a question needs up to three.
MAX_QUESTIONS = 200


class LimitedPermissions:
    """Permissions at GitHub, requested at most MAX_QUESTIONS times an hour per process and person.

    Safe across threads.
    """

    def __init__(
        self, permissions: AccountPermissions, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._permissions = permissions
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._hour: int | None = None
        self._counts: Counter[str] = Counter()

    def account_permission(self, repository: str, login: str) -> AccountPermission:
        """Return what the account with a login may do with a repository.

        Raises GitHubError if this was asked too often within the hour.
        """
        self._count(login)
        return self._permissions.account_permission(repository, login)

    def repository_id(self, repository: str) -> int:
        """Return the number of the repository that currently has a name."""
        return self._permissions.repository_id(repository)

    def _count(self, login: str) -> None:
        hour = int(self._monotonic() // SECONDS_PER_HOUR)
        with self._lock:
            if hour != self._hour:
                self._hour, self._counts = hour, Counter()
            if self._counts[login] >= MAX_QUESTIONS:
                msg = f"GitHub was asked {MAX_QUESTIONS} times in an hour for the roles of {login}"
                raise GitHubError(msg, is_transient=True)
            self._counts[login] += 1
