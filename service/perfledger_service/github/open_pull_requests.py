"""Defines the port through which use cases read which pull requests are open."""

from typing import Protocol


class OpenPullRequests(Protocol):
    """The open pull requests of a repository (owner/name); methods may raise GitHubError."""

    def open_pull_requests(self, repository: str) -> frozenset[int] | None:
        """Return the numbers of all open pull requests; None if there are too many to list."""
        ...
