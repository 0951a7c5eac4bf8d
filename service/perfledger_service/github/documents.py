"""Reads and writes the few fields of GitHub's JSON that are used; all others may change."""

from datetime import datetime
from typing import Annotated, TypeVar

import msgspec
from requests import Response

from perfledger_service.errors import GitHubError
from perfledger_service.github.pull_requests import CheckRunContent
from perfledger_service.values.pull_request_report import CodeAnnotation

MAX_TEXT = 65_535  # characters of a check run's text
_Document = TypeVar("_Document")
# What msgspec raises for an answer that is not JSON or not UTF-8, has other fields, or is nested
# thousands deep.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class GitHubUser(msgspec.Struct):
    """An account."""

    login: str


class RepositoryName(msgspec.Struct):
    """A repository by its name."""

    full_name: str


class PullRequestNumber(msgspec.Struct):
    """A pull request in a list."""

    number: int


class PullRequestHead(msgspec.Struct):
    """A pull request's head; `repo` is null once its repository is deleted."""

    sha: str
    repo: RepositoryName | None = None


class PullRequestBase(msgspec.Struct):
    """Branch that a pull request is to be merged into."""

    repo: RepositoryName
    ref: str = ""


class PullRequestDocument(msgspec.Struct):
    """A pull request; its state is open or closed."""

    state: str
    head: PullRequestHead
    base: PullRequestBase | None = None


class IssueEvent(msgspec.Struct):
    """Something that happened to an issue or pull request."""

    event: str
    created_at: datetime


class IssueComment(msgspec.Struct):
    """A comment; `user` is null once the account is deleted."""

    id: int
    body: str | None = None
    user: GitHubUser | None = None


class GitHubApp(msgspec.Struct):
    """A GitHub App."""

    slug: str


class CheckRun(msgspec.Struct):
    """A check run, and the App that created it."""

    id: int
    name: str
    app: GitHubApp | None = None


class Annotation(msgspec.Struct):
    """An annotation of a check run."""

    path: str
    start_line: int
    annotation_level: str | None = None
    title: str | None = None
    message: str | None = None


class FileContent(msgspec.Struct):
    """A file of at most a megabyte; GitHub sends larger ones without content."""

    content: str
    encoding: str


class CheckRuns(msgspec.Struct):
    """The check runs on a commit."""

    check_runs: tuple[CheckRun, ...]


class Issue(msgspec.Struct):
    """An issue, or a pull request; `user` is null once the account is deleted."""

    number: int
    body: str | None = None
    user: GitHubUser | None = None


class IssueNumber(msgspec.Struct):
    """An issue by its number."""

    number: int


class BranchName(msgspec.Struct):
    """A branch by its name."""

    name: str


class CommitLink(msgspec.Struct):
    """A commit by its hash."""

    sha: str


class ListedCommit(msgspec.Struct):
    """A commit of a listing, with its parents."""

    sha: str
    parents: tuple[CommitLink, ...] = ()


class RepositoryDocument(msgspec.Struct):
    """A repository."""

    default_branch: str


class GitHubAccount(msgspec.Struct):
    """An account with its number, which does not change when it is renamed."""

    id: int
    login: str


class RepositoryPermission(msgspec.Struct):
    """What a person may do with a repository; `user` is the account that has the login now."""

    permission: str
    user: GitHubAccount | None = None


class UserToken(msgspec.Struct):
    """A token with which an App acts for a person; without one, `error` gives the reason."""

    access_token: str = ""
    error: str = ""


class CommitComparison(msgspec.Struct):
    """Position of a commit relative to another: ahead, behind, diverged or identical."""

    status: str
    merge_base_commit: CommitLink | None = None


class CreatedResource(msgspec.Struct):
    """A resource by its id."""

    id: int


class InstallationToken(msgspec.Struct):
    """A token of an App's installation, and its expiry."""

    token: str
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)]


# Created here, since msgspec crashes if several threads are the first to decode a type.
ACCOUNT = msgspec.json.Decoder(GitHubAccount)
USER_TOKEN = msgspec.json.Decoder(UserToken)
USER = msgspec.json.Decoder(GitHubUser)
PULL_REQUEST = msgspec.json.Decoder(PullRequestDocument)
COMMENTS = msgspec.json.Decoder(tuple[IssueComment, ...])
ISSUE_EVENTS = msgspec.json.Decoder(tuple[IssueEvent, ...])
APP = msgspec.json.Decoder(GitHubApp)
ANNOTATIONS = msgspec.json.Decoder(tuple[Annotation, ...])
FILE_CONTENT = msgspec.json.Decoder(FileContent)
CHECK_RUNS = msgspec.json.Decoder(CheckRuns)
ISSUES = msgspec.json.Decoder(tuple[Issue, ...])
ISSUE_NUMBER = msgspec.json.Decoder(IssueNumber)
CREATED = msgspec.json.Decoder(CreatedResource)
LISTED_PULL_REQUESTS = msgspec.json.Decoder(tuple[PullRequestNumber, ...])
LISTED_COMMITS = msgspec.json.Decoder(tuple[ListedCommit, ...])
BRANCHES = msgspec.json.Decoder(tuple[BranchName, ...])
REPOSITORY = msgspec.json.Decoder(RepositoryDocument)
PERMISSION = msgspec.json.Decoder(RepositoryPermission)
COMPARISON = msgspec.json.Decoder(CommitComparison)
INSTALLATION_TOKEN = msgspec.json.Decoder(InstallationToken)


def decode_answer(response: Response, document: msgspec.json.Decoder[_Document]) -> _Document:
    """Return an answer's fields; raise GitHubError if they are not those of GitHub's API."""
    try:
        return document.decode(response.content)
    except UNREADABLE as error:
        msg = f"the answer is not from GitHub's API ({error}): check PERFLEDGER_GITHUB_API_URL"
        raise GitHubError(msg, is_transient=True) from None  # most often a proxy's page


def check_body(check: CheckRunContent) -> dict[str, object]:
    """Return a check run as GitHub takes it, without its commit and its annotations."""
    progress: dict[str, object] = (
        {"status": "completed", "conclusion": check.conclusion}
        if check.conclusion
        else {"status": "in_progress"}  # which clears an earlier conclusion
    )
    return progress | {
        "name": check.name,
        "details_url": check.details_url,
        "external_id": check.external_id,
        "output": output_body(check),
    }


def output_body(check: CheckRunContent) -> dict[str, object]:
    """Return what a check run shows, within GitHub's limits."""
    return {"title": check.title[:MAX_TEXT], "summary": check.summary[:MAX_TEXT]}


def annotation_body(annotation: CodeAnnotation) -> dict[str, object]:
    """Return an annotation of a check run as GitHub takes it."""
    return {
        "path": annotation.path,
        "start_line": annotation.line,
        "end_line": annotation.line,
        "annotation_level": annotation.level,
        "title": annotation.title,
        "message": annotation.message,
    }
