"""Implements PullRequests and BranchCommits with GitHub's REST API."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

from pydantic import SecretStr
from requests import Response

from perfledger_service.errors import GitHubError, SettingsError
from perfledger_service.github.account_permissions import AccountPermission
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.app.installations import GitHubInstallations
from perfledger_service.github.authentication import (
    AppAuthentication,
    Authentication,
    TokenAuthentication,
)
from perfledger_service.github.documents import (
    ANNOTATIONS,
    BRANCHES,
    CHECK_RUNS,
    COMMENTS,
    COMPARISON,
    CREATED,
    FILE_CONTENT,
    ISSUE_EVENTS,
    LISTED_COMMITS,
    LISTED_PULL_REQUESTS,
    PERMISSION,
    PULL_REQUEST,
    REPOSITORY,
    UNREADABLE,
    CommitComparison,
    annotation_body,
    check_body,
    decode_answer,
    output_body,
)
from perfledger_service.github.issues import GitHubIssues
from perfledger_service.github.pull_requests import (
    CheckRunContent,
    PullRequest,
    PullRequestComment,
)
from perfledger_service.github.rate_limits import WRITE_INTERVAL_S, SharedTurns
from perfledger_service.github.request_counts import RequestCounts
from perfledger_service.github.webhook_deliveries import AppDeliveries
from perfledger_service.values.pull_request_report import CodeAnnotation

PAGE = 100
# Comments beyond this many pages are not searched.
MAX_PAGES = 50
# GitHub's limits.
MAX_ANNOTATIONS = 50  # of one request
# Issue events of a base that somebody changed, or GitHub when the earlier branch was deleted.
BASE_CHANGES = frozenset({"automatic_base_change_succeeded", "base_ref_changed"})
UNAUTHORIZED = 401
NOT_FOUND = 404
GONE = 410
UNPROCESSABLE = 422


class GitHub:
    """PullRequests and BranchCommits on GitHub."""

    def __init__(self, api: GitHubApi, authentication: Authentication) -> None:
        self._api = api
        self._authentication = authentication

    def me(self) -> str:
        """Return the login under which our comments are posted."""
        return self._authentication.me()

    def pull_request(self, repository: str, number: int) -> PullRequest | None:
        """Return a pull request, or None if none has this number."""
        try:
            document = decode_answer(self._call("GET", repository, f"pulls/{number}"), PULL_REQUEST)
        except GitHubError as error:
            if error.github_status == NOT_FOUND:
                self.repository_id(repository)  # raises if the App is not installed there
                return None
            raise
        origin, base = document.head.repo, document.base
        return PullRequest(
            number=number,
            is_open=document.state == "open",
            head_sha=document.head.sha,
            is_fork=origin is None or base is None or origin.full_name != base.repo.full_name,
            base_ref=base.ref if base else "",
        )

    def merge_base(self, repository: str, branch: str, sha: str) -> str:
        """Return the newest common commit of a branch and a commit, "" if GitHub does not say."""
        comparison = self._comparison(repository, sha, branch)
        ancestor = comparison.merge_base_commit if comparison else None
        return ancestor.sha if ancestor else ""

    def base_changed_at(self, repository: str, number: int) -> datetime | None:
        """Return when a pull request's base branch last changed, None if it never did.

        Raises GitHubError, which is not transient if GitHub does not say.
        """
        path = f"issues/{number}/events"
        try:
            pages = [decode_answer(page, ISSUE_EVENTS) for page in self._pages(repository, path)]
        except GitHubError as error:
            if error.github_status == NOT_FOUND:
                raise GitHubError(str(error), github_status=NOT_FOUND) from None
            raise
        if len(pages) == MAX_PAGES and len(pages[-1]) == PAGE:
            msg = f"pull request #{number} of {repository} has too many events to read them all"
            raise GitHubError(msg)
        moments = (one.created_at for page in pages for one in page if one.event in BASE_CHANGES)
        return max(moments, default=None)

    def branches_at(self, repository: str, sha: str) -> tuple[str, ...]:
        """Return the names of the branches whose head is a commit, none for an unknown commit."""
        try:
            response = self._call("GET", repository, f"commits/{sha}/branches-where-head")
        except GitHubError as error:
            if error.github_status in (NOT_FOUND, UNPROCESSABLE):
                self.repository_id(repository)  # raises if the App is not installed there
                return ()
            raise
        return tuple(one.name for one in decode_answer(response, BRANCHES))

    def open_pull_requests(self, repository: str) -> frozenset[int] | None:
        """Return the numbers of all open pull requests; None if there are too many to list."""
        pages = [
            decode_answer(page, LISTED_PULL_REQUESTS) for page in self._pages(repository, "pulls")
        ]
        if len(pages) == MAX_PAGES and len(pages[-1]) == PAGE:
            return None
        return frozenset(one.number for page in pages for one in page)

    def comments(self, repository: str, number: int) -> tuple[PullRequestComment, ...]:
        """Return all comments under a pull request, oldest first."""
        return tuple(
            PullRequestComment(
                id=comment.id,
                author=comment.user.login if comment.user else "",
                body=comment.body or "",
            )
            for page in self._pages(repository, f"issues/{number}/comments")
            for comment in decode_answer(page, COMMENTS)
        )

    def create_comment(self, repository: str, number: int, body: str) -> int:
        """Write a comment and return its id."""
        response = self._call("POST", repository, f"issues/{number}/comments", {"body": body})
        return decode_answer(response, CREATED).id

    def update_comment(self, repository: str, comment_id: int, body: str) -> bool:
        """Replace a comment's text; return False if the comment is gone."""
        return self._is_there("PATCH", repository, f"issues/comments/{comment_id}", {"body": body})

    def delete_comment(self, repository: str, comment_id: int) -> None:
        """Delete a comment, or leave it if it is gone."""
        self._is_there("DELETE", repository, f"issues/comments/{comment_id}")

    def react(self, repository: str, comment_id: int) -> None:
        """Add a thumbs-up to a comment, once; do nothing if it is gone."""
        path = f"issues/comments/{comment_id}/reactions"
        self._is_there("POST", repository, path, {"content": "+1"})

    def permission(self, repository: str, login: str) -> str:
        """Return what a person may do with a repository, in GitHub's words; "none" for nobody."""
        return self.account_permission(repository, login).permission

    def account_permission(self, repository: str, login: str) -> AccountPermission:
        """Return what the account with a login may do with a repository."""
        path = f"collaborators/{quote(login, safe='')}/permission"
        try:
            document = decode_answer(self._call("GET", repository, path), PERMISSION)
        except GitHubError as error:
            if error.github_status == NOT_FOUND:
                self.repository_id(repository)  # raises if the App is not installed there
                return AccountPermission(permission="none", account_id=None)
            raise
        account_id = None if document.user is None else document.user.id
        return AccountPermission(permission=document.permission, account_id=account_id)

    def repository_id(self, repository: str) -> int:
        """Return the number of the repository that has this name now."""
        return decode_answer(self._call("GET", repository, ""), CREATED).id

    def check_runs(self, repository: str, sha: str, name: str) -> tuple[int, ...]:
        """Return the ids of our check runs by that name on a commit, newest first.

        Only the App that created a check run can change it, so other Apps' runs are left out.
        """
        query = {"check_name": name, "filter": "all", "per_page": str(PAGE)}
        response = self._call("GET", repository, f"commits/{sha}/check-runs", params=query)
        mine = self.me().removesuffix("[bot]")
        ids = (
            run.id
            for run in decode_answer(response, CHECK_RUNS).check_runs
            if run.name == name and run.app is not None and run.app.slug == mine
        )
        return tuple(sorted(ids, reverse=True))

    def create_check(self, repository: str, check: CheckRunContent) -> int:
        """Add a check run to its commit and return its id."""
        body = {"head_sha": check.head_sha} | check_body(check)
        check_run = decode_answer(self._call("POST", repository, "check-runs", body), CREATED)
        self._annotate(repository, check_run.id, check, check.annotations)
        return check_run.id

    def update_check(self, repository: str, check_run_id: int, check: CheckRunContent) -> bool:
        """Replace a check run's result; return False if the check run is gone."""
        path = f"check-runs/{check_run_id}"
        if not self._is_there("PATCH", repository, path, check_body(check)):
            return False
        if check.annotations:
            present = {
                (one.path, one.start_line, one.annotation_level, one.title, one.message)
                for page in self._pages(repository, f"{path}/annotations")
                for one in decode_answer(page, ANNOTATIONS)
            }
            missing = [
                one
                for one in check.annotations
                if (one.path, one.line, one.level, one.title, one.message) not in present
            ]
            self._annotate(repository, check_run_id, check, missing)
        return True

    def line_count(self, repository: str, path: str, sha: str) -> int | None:
        """Return the number of lines of a file at a commit, None if it cannot be read."""
        try:
            response = self._call("GET", repository, f"contents/{quote(path)}", params={"ref": sha})
        except GitHubError as error:
            if error.is_transient and error.github_status != NOT_FOUND:
                raise
            return None
        try:
            document = FILE_CONTENT.decode(response.content)
            content = b64decode(document.content) if document.encoding == "base64" else b""
        except (*UNREADABLE, ValueError):  # of a folder or a submodule
            return None
        return len(content.splitlines())

    def _comparison(self, repository: str, sha: str, branch: str) -> CommitComparison | None:
        """Return the position of a commit relative to a branch, None for an unknown one."""
        path = f"compare/{quote(branch, safe='')}...{sha}"
        try:
            response = self._call("GET", repository, path, params={"per_page": "1"})
        except GitHubError as error:
            if error.github_status in (NOT_FOUND, UNPROCESSABLE):
                return None
            raise
        return decode_answer(response, COMPARISON)

    def _annotate(
        self,
        repository: str,
        check_run_id: int,
        check: CheckRunContent,
        annotations: Sequence[CodeAnnotation],
    ) -> None:
        """Add annotations to a check run, in batches of the size that GitHub takes.

        A request whose answer was lost is not repeated, because that would add its annotations
        twice.
        """
        for first in range(0, len(annotations), MAX_ANNOTATIONS):
            some = annotations[first : first + MAX_ANNOTATIONS]
            output = output_body(check) | {"annotations": [annotation_body(one) for one in some]}
            path = f"check-runs/{check_run_id}"
            body = check_body(check) | {"output": output}
            self._call("PATCH", repository, path, body, is_repeatable=False)

    def default_branch(self, repository: str) -> str:
        """Return the name of the default branch."""
        return decode_answer(self._call("GET", repository, ""), REPOSITORY).default_branch

    def is_ancestor(self, repository: str, sha: str, branch: str) -> bool:
        """Return whether a commit is reachable from a branch; False for an unknown commit."""
        comparison = self._comparison(repository, sha, branch)
        return comparison is not None and comparison.status in ("behind", "identical")

    def first_parents(self, repository: str, revision: str) -> dict[str, str]:
        """Return a commit and some before it with their first parents, "" for a root."""
        query = {"sha": revision, "per_page": str(PAGE)}
        response = self._call("GET", repository, "commits", params=query)
        return {
            commit.sha: commit.parents[0].sha if commit.parents else ""
            for commit in decode_answer(response, LISTED_COMMITS)
        }

    @property
    def deliveries(self) -> AppDeliveries | None:
        """Return the webhook deliveries; None without an App: only an App may read its own."""
        if not isinstance(self._authentication, AppAuthentication):
            return None
        return AppDeliveries(self._api, self._authentication.app_auth)

    @property
    def installations(self) -> GitHubInstallations | None:
        """Return the App's installations; None without an App."""
        if not isinstance(self._authentication, AppAuthentication):
            return None
        return GitHubInstallations(self._api, self._authentication.app_auth)

    @property
    def issues(self) -> GitHubIssues:
        """Return the issues of the repositories."""
        return GitHubIssues(self._call, self.me)

    @property
    def clock_offset(self) -> timedelta:
        """Return how far GitHub's clock is ahead of ours."""
        return self._api.clock_offset

    @property
    def requests(self) -> RequestCounts:
        """Return the counts of requests so far by how they ended."""
        return self._api.counts

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def _is_there(
        self, method: str, repository: str, path: str, json: Mapping[str, object] | None = None
    ) -> bool:
        """Send a change; return False if its target is gone."""
        try:
            self._call(method, repository, path, json)
        except GitHubError as error:
            if error.github_status in (NOT_FOUND, GONE):
                return False
            raise
        return True

    def _pages(self, repository: str, path: str) -> Iterator[Response]:
        """Yield a listing's pages by number; links in answers are not followed."""
        for page in range(1, MAX_PAGES + 1):
            query = {"per_page": str(PAGE), "page": str(page)}
            response = self._call("GET", repository, path, params=query)
            yield response
            if "next" not in response.links:
                return

    def _call(
        self,
        method: str,
        repository: str,
        path: str,
        json: Mapping[str, object] | None = None,
        params: Mapping[str, str] | None = None,
        *,
        is_repeatable: bool = True,
    ) -> Response:
        """Send a request about a repository; a token that GitHub refuses is replaced next time."""
        access = self._authentication.access(repository)
        url = f"repos/{quote(repository)}{path and '/'}{path}"
        try:
            return self._api.request(
                method,
                url,
                auth=access.auth,
                installation=access.installation,
                json=json,
                params=params,
                is_repeatable=is_repeatable,
            )
        except GitHubError as error:
            if error.github_status == UNAUTHORIZED:
                self._authentication.drop(repository)
            raise


def open_github(
    *,
    api_url: str,
    token: SecretStr | None,
    app_id: str,
    private_key: SecretStr | None,
    write_interval_s: float = WRITE_INTERVAL_S,
    turns: SharedTurns | None = None,
) -> GitHub | None:
    """Return GitHub with the given credentials, or None without any.

    `turns` let the replicas of a service write in turn.

    Raises SettingsError for half of an App's credentials, or an invalid key.
    """
    api = GitHubApi(api_url, write_interval_s=write_interval_s, turns=turns)
    if app_id and private_key is not None:
        key = private_key.get_secret_value()
        return GitHub(api, AppAuthentication(api, app_id=app_id, private_key=key))
    if app_id or private_key is not None:
        msg = "PERFLEDGER_GITHUB_APP_ID and PERFLEDGER_GITHUB_PRIVATE_KEY go together: set both"
        raise SettingsError(msg)
    if token is not None:
        return GitHub(api, TokenAuthentication(api, token.get_secret_value()))
    return None
