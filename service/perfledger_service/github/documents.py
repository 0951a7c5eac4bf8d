"""GitHub's JSON in, the few fields that we read of it out; all others may come and go."""

from typing import TypeVar

import msgspec
from requests import Response

from perfledger_service.errors import GitHubError

_Document = TypeVar("_Document")


class User(msgspec.Struct):
    """An account."""

    login: str


class Head(msgspec.Struct):
    """A pull request's head."""

    sha: str


class Pull(msgspec.Struct):
    """A pull request; its state is open or closed."""

    state: str
    head: Head


class IssueComment(msgspec.Struct):
    """A comment; `user` is null once the account is deleted."""

    id: int
    body: str | None = None
    user: User | None = None


class App(msgspec.Struct):
    """A GitHub App."""

    slug: str


class CheckRun(msgspec.Struct):
    """A check run, and the App that made it."""

    id: int
    name: str
    app: App | None = None


class CheckRuns(msgspec.Struct):
    """The check runs on a commit."""

    check_runs: tuple[CheckRun, ...]


class Numbered(msgspec.Struct):
    """Whatever was made or found, by its id."""

    id: int


class InstallationToken(msgspec.Struct):
    """A token of an App's installation, and when it ends, in ISO 8601."""

    token: str
    expires_at: str


def read(response: Response, document: type[_Document]) -> _Document:
    """Return an answer's fields; raise GitHubError if they are not those of GitHub's API."""
    try:
        return msgspec.json.decode(response.content, type=document)
    except msgspec.DecodeError as error:
        msg = f"the answer is not GitHub's ({error}): PERFLEDGER_GITHUB_API_URL is not its API"
        raise GitHubError(msg) from None
