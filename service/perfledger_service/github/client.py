"""The port in, GitHub's API out: pull requests, comments and checks by raw JSON."""

from collections.abc import Iterator, Mapping
from urllib.parse import quote

from pydantic import SecretStr
from requests import Response

from perfledger_service.errors import GitHubError, SettingsError
from perfledger_service.github.api import Api
from perfledger_service.github.authentication import (
    AppAuthentication,
    Authentication,
    TokenAuthentication,
)
from perfledger_service.github.documents import (
    CheckRuns,
    IssueComment,
    Numbered,
    Pull,
    read,
)
from perfledger_service.github.pull_requests import Check, Comment, PullRequest

PAGE = 100
# A pull request with more comments than this is not searched further: 50 requests.
MAX_PAGES = 50
# GitHub's limits.
MAX_TEXT = 65_535
NOT_FOUND = 404
GONE = 410


class GitHub:
    """GitHub itself, as PullRequests."""

    def __init__(self, api: Api, authentication: Authentication) -> None:
        self._api = api
        self._authentication = authentication

    def me(self) -> str:
        """Return the login that our comments are written by."""
        return self._authentication.me()

    def pull_request(self, repository: str, number: int) -> PullRequest | None:
        """Return a pull request, or None where there is none by that number."""
        try:
            found = read(self._call("GET", repository, f"pulls/{number}"), Pull)
        except GitHubError as error:
            if error.github_status == NOT_FOUND:
                return None
            raise
        return PullRequest(
            number=number,
            is_open=found.state == "open",
            head_sha=found.head.sha,
        )

    def comments(self, repository: str, number: int) -> tuple[Comment, ...]:
        """Return all comments under a pull request, oldest first."""
        return tuple(
            Comment(
                id=found.id,
                author=found.user.login if found.user else "",
                body=found.body or "",
            )
            for page in self._pages(repository, f"issues/{number}/comments")
            for found in read(page, tuple[IssueComment, ...])
        )

    def create_comment(self, repository: str, number: int, body: str) -> int:
        """Write a comment and return its id."""
        made = self._call("POST", repository, f"issues/{number}/comments", {"body": body})
        return read(made, Numbered).id

    def update_comment(self, repository: str, comment_id: int, body: str) -> bool:
        """Replace a comment's text; return False if the comment is gone."""
        return self._is_there("PATCH", repository, f"issues/comments/{comment_id}", {"body": body})

    def delete_comment(self, repository: str, comment_id: int) -> None:
        """Delete a comment, or leave it if it is gone."""
        self._is_there("DELETE", repository, f"issues/comments/{comment_id}")

    def check_runs(self, repository: str, sha: str, name: str) -> tuple[int, ...]:
        """Return the ids of our check runs by that name on a commit, newest first.

        A check run can be changed only by the App that made it: others' are left out by the login.
        """
        query = {"check_name": name, "filter": "all", "per_page": str(PAGE)}
        found = self._call("GET", repository, f"commits/{sha}/check-runs", params=query)
        mine = self.me().removesuffix("[bot]")
        ids = (
            run.id
            for run in read(found, CheckRuns).check_runs
            if run.name == name and run.app is not None and run.app.slug == mine
        )
        return tuple(sorted(ids, reverse=True))

    def create_check(self, repository: str, check: Check) -> int:
        """Add a check run to its commit and return its id."""
        body = {"head_sha": check.head_sha} | _check_body(check)
        return read(self._call("POST", repository, "check-runs", body), Numbered).id

    def update_check(self, repository: str, check_run_id: int, check: Check) -> bool:
        """Replace what a check run says; return False if the check run is gone."""
        return self._is_there("PATCH", repository, f"check-runs/{check_run_id}", _check_body(check))

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def _is_there(
        self, method: str, repository: str, path: str, json: Mapping[str, object] | None = None
    ) -> bool:
        """Send a change; return False where what was to be changed is gone."""
        try:
            self._call(method, repository, path, json)
        except GitHubError as error:
            if error.github_status in (NOT_FOUND, GONE):
                return False
            raise
        return True

    def _pages(self, repository: str, path: str) -> Iterator[Response]:
        """Yield a listing's pages, asked for by number: no link that they hold is followed."""
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
    ) -> Response:
        auth = self._authentication.auth(repository)
        url = f"repos/{quote(repository)}/{path}"
        return self._api.request(method, url, auth=auth, json=json, params=params)


def open_github(
    *,
    api_url: str,
    token: SecretStr | None,
    app_id: str,
    private_key: SecretStr | None,
    write_interval_s: float = 1.0,
) -> GitHub | None:
    """Return GitHub behind the given credentials, or None where there are none.

    Raises SettingsError for half of an App's credentials, or a key that is none.
    """
    api = Api(api_url, write_interval_s=write_interval_s)
    if app_id and private_key is not None:
        key = private_key.get_secret_value()
        return GitHub(api, AppAuthentication(api, app_id=app_id, private_key=key))
    if app_id or private_key is not None:
        msg = "PERFLEDGER_GITHUB_APP_ID and PERFLEDGER_GITHUB_PRIVATE_KEY go together: set both"
        raise SettingsError(msg)
    if token is not None:
        return GitHub(api, TokenAuthentication(api, token.get_secret_value()))
    return None


def _check_body(check: Check) -> dict[str, object]:
    return {
        "name": check.name,
        "status": "completed",
        "conclusion": check.conclusion,
        "details_url": check.details_url,
        "external_id": check.external_id,
        "output": {
            "title": check.title[:MAX_TEXT],
            "summary": check.summary[:MAX_TEXT],
        },
    }
