"""Defines the port through which use cases reach GitHub, and its values."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from perfledger_service.values.pull_request_report import CodeAnnotation


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request's current state; a deleted head repository counts as a fork.

    `base_ref` is the branch that it is to be merged into.
    """

    number: int
    is_open: bool
    head_sha: str
    is_fork: bool
    base_ref: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestComment:
    """A comment on a pull request; `author` is "" if the account was deleted."""

    id: int
    author: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRunContent:
    """The content of a check run; its summary is Markdown.

    `conclusion` is in GitHub's terms, "" while the check is in progress. Annotations are added to
    those that the check run already has: GitHub cannot remove any.
    """

    name: str
    head_sha: str
    conclusion: str
    title: str
    summary: str
    details_url: str
    external_id: str
    annotations: tuple[CodeAnnotation, ...] = ()


class PullRequests(Protocol):
    """Destination of reports. `repository` is owner/name; every method may raise GitHubError."""

    def me(self) -> str:
        """Return the login under which our comments are posted."""
        ...

    def pull_request(self, repository: str, number: int) -> PullRequest | None:
        """Return a pull request, or None if none has this number."""
        ...

    def merge_base(self, repository: str, branch: str, sha: str) -> str:
        """Return the newest common commit of a branch and a commit, "" if GitHub does not say."""
        ...

    def base_changed_at(self, repository: str, number: int) -> datetime | None:
        """Return when a pull request's base branch last changed, None if it never did.

        Raises GitHubError, which is not transient if GitHub does not say.
        """
        ...

    def branches_at(self, repository: str, sha: str) -> tuple[str, ...]:
        """Return the names of the branches whose head is a commit, none for an unknown commit."""
        ...

    def comments(self, repository: str, number: int) -> tuple[PullRequestComment, ...]:
        """Return all comments under a pull request, oldest first."""
        ...

    def create_comment(self, repository: str, number: int, body: str) -> int:
        """Write a comment and return its id."""
        ...

    def update_comment(self, repository: str, comment_id: int, body: str) -> bool:
        """Replace a comment's text; return False if the comment is gone."""
        ...

    def delete_comment(self, repository: str, comment_id: int) -> None:
        """Delete a comment, or leave it if it is gone."""
        ...

    def react(self, repository: str, comment_id: int) -> None:
        """Add a thumbs-up to a comment, once; do nothing if it is gone."""
        ...

    def permission(self, repository: str, login: str) -> str:
        """Return what a person may do with a repository, in GitHub's words; "none" for nobody."""
        ...

    def line_count(self, repository: str, path: str, sha: str) -> int | None:
        """Return the number of lines of a file at a commit, None if it cannot be read."""
        ...

    def check_runs(self, repository: str, sha: str, name: str) -> tuple[int, ...]:
        """Return the ids of our check runs by that name on a commit, newest first."""
        ...

    def create_check(self, repository: str, check: CheckRunContent) -> int:
        """Add a check run to its commit and return its id."""
        ...

    def update_check(self, repository: str, check_run_id: int, check: CheckRunContent) -> bool:
        """Replace a check run's result; return False if the check run is gone."""
        ...
