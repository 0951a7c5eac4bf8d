"""Defines the port through which use cases learn which pull requests are open."""

from typing import Protocol


class OpenPullRequests(Protocol):
    """Pull requests that are open, by repository (owner/name); methods may raise GitHubError."""

    def open_pull_requests(self, repository: str) -> frozenset[int] | None:
        """Return the numbers of all open pull requests; None where they are too many to list."""
        ...
