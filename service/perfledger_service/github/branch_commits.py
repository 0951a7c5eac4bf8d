"""Defines the port through which use cases read the default branch's commits."""

from typing import Protocol


class BranchCommits(Protocol):
    """Commits of a repository's (owner/name) default branch; methods may raise GitHubError."""

    def default_branch(self, repository: str) -> str:
        """Return the name of the default branch."""
        ...

    def is_ancestor(self, repository: str, sha: str, branch: str) -> bool:
        """Return whether a commit is reachable from a branch; False for an unknown commit."""
        ...

    def first_parents(self, repository: str, revision: str) -> dict[str, str]:
        """Return a commit and some before it with their first parents, "" for a root."""
        ...
