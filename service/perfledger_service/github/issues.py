"""Opens, comments on and closes issues of a repository, each found again by its hidden marker."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from requests import Response

from perfledger_service.errors import GitHubError
from perfledger_service.github.documents import COMMENTS, ISSUE_NUMBER, ISSUES, decode_answer

LABEL: Final = "performance"
MAX_TITLE: Final = 256  # characters: GitHub's own limit
_PAGE: Final = 100
_MAX_PAGES: Final = 20  # of 100 issues or comments each
_GONE: Final = frozenset({404, 410})
# GitHub's clock may differ from ours.
_CLOCK_SKEW: Final = timedelta(minutes=10)


class Issues(Protocol):
    """Issues that carry notices; every method may raise GitHubError."""

    def find(self, repository: str, marker: str, *, since: datetime) -> int | None:
        """Return our issue that begins with a marker, or None; it is not older than `since`."""
        ...

    def create(self, repository: str, title: str, body: str) -> int:
        """Open an issue and return its number."""
        ...

    def add_comment(self, repository: str, number: int, marker: str, body: str) -> bool:
        """Add a comment that begins with a marker, once; return False if the issue is gone."""
        ...

    def set_open(self, repository: str, number: int, *, is_open: bool) -> None:
        """Open or close an issue; do nothing if it is gone."""
        ...


class GitHubIssues:
    """Issues on GitHub; `call` sends a request about a repository under our login."""

    def __init__(self, call: Callable[..., Response], me: Callable[[], str]) -> None:
        self._call = call
        self._me = me

    def find(self, repository: str, marker: str, *, since: datetime) -> int | None:
        """Return our issue that begins with a marker, or None; it is not older than `since`."""
        query = {
            "state": "all",
            "sort": "created",
            "direction": "desc",
            "since": f"{since.astimezone(UTC) - _CLOCK_SKEW:%Y-%m-%dT%H:%M:%SZ}",
            "per_page": str(_PAGE),
        }
        for page in range(1, _MAX_PAGES + 1):
            response = self._call("GET", repository, "issues", params=query | {"page": str(page)})
            for issue in decode_answer(response, ISSUES):
                author = issue.user.login if issue.user else ""
                if author == self._me() and (issue.body or "").startswith(marker):
                    return issue.number
            if "next" not in response.links:
                break
        return None

    def create(self, repository: str, title: str, body: str) -> int:
        """Open an issue and return its number."""
        content = {"title": title[:MAX_TITLE], "body": body, "labels": [LABEL]}
        return decode_answer(self._call("POST", repository, "issues", content), ISSUE_NUMBER).number

    def add_comment(self, repository: str, number: int, marker: str, body: str) -> bool:
        """Add a comment that begins with a marker, once; return False if the issue is gone."""
        path = f"issues/{number}/comments"
        try:
            for page in range(1, _MAX_PAGES + 1):
                query = {"per_page": str(_PAGE), "page": str(page)}
                response = self._call("GET", repository, path, params=query)
                if self._has_comment(response, marker):
                    return True
                if "next" not in response.links:
                    break
            self._call("POST", repository, path, {"body": body})
        except GitHubError as error:
            if error.github_status in _GONE:
                return False
            raise
        return True

    def set_open(self, repository: str, number: int, *, is_open: bool) -> None:
        """Open or close an issue; do nothing if it is gone."""
        try:
            state = {"state": "open" if is_open else "closed"}
            self._call("PATCH", repository, f"issues/{number}", state)
        except GitHubError as error:
            if error.github_status not in _GONE:
                raise

    def _has_comment(self, response: Response, marker: str) -> bool:
        return any(
            comment.user is not None
            and comment.user.login == self._me()
            and (comment.body or "").startswith(marker)
            for comment in decode_answer(response, COMMENTS)
        )
