"""Implements a launcher's WorkflowRuns with GitHub's REST API."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar
from urllib.parse import quote

import msgspec
from pydantic import SecretStr
from requests import Response

from perfledger_runners.launchers.github_actions.workflow_runs import (
    ActionsError,
    RequestEffect,
    WorkflowJob,
    WorkflowRun,
)
from perfledger_service.errors import GitHubError, SettingsError
from perfledger_service.github.api import GitHubApi
from perfledger_service.github.documents import decode_answer
from perfledger_service.github.downloads import download
from perfledger_service.github.rate_limits import LIMITED
from perfledger_service.github.session import token_auth

# A run is about 15 KB of JSON; few are newer than a dispatch.
RUNS_PAGE = 20
MAX_RUN_PAGES = 10  # of RUNS_PAGE runs each, the newest first
ENDED = 409  # the status for a run that can no longer be cancelled
# Also for what a token may not see; it may be transient, but nothing was done.
UNSEEN = frozenset({401, 404})

_Document = TypeVar("_Document")


class RunList(msgspec.Struct):
    """A page of a workflow's runs, newest first."""

    workflow_runs: tuple[WorkflowRun, ...]


class JobList(msgspec.Struct):
    """The jobs of a run."""

    jobs: tuple[WorkflowJob, ...]


class ArtifactEntry(msgspec.Struct):
    """An artifact of a run."""

    id: int
    name: str


class ArtifactList(msgspec.Struct):
    """The artifacts of a run with a given name."""

    artifacts: tuple[ArtifactEntry, ...]


# Created here, since msgspec crashes if several threads are the first to decode a type.
RUN = msgspec.json.Decoder(WorkflowRun)
RUNS = msgspec.json.Decoder(RunList)
JOBS = msgspec.json.Decoder(JobList)
ARTIFACTS = msgspec.json.Decoder(ArtifactList)


class GitHubWorkflowRuns:
    """Workflow runs of one GitHub repository, by a token that may read and write Actions."""

    def __init__(self, api: GitHubApi, token: SecretStr, repository: str) -> None:
        self._api = api
        self._auth = token_auth(token.get_secret_value())
        self._root = f"repos/{quote(repository)}/actions"

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Request a run of a workflow, once."""
        path = f"workflows/{quote(workflow, safe='')}/dispatches"
        try:
            self._call("POST", path, json={"ref": ref, "inputs": dict(inputs)})
        except ActionsError as error:
            if _status(error) not in UNSEEN:
                raise
            raise ActionsError(str(error), effect=RequestEffect.REFUSED) from error

    def named_run(self, workflow: str, name: str, *, since: datetime) -> WorkflowRun | None:
        """Return the first run since a time whose title contains a name, None without one.

        The list is requested without a filter: GitHub's search may lag behind its runs.
        """
        path, first = f"workflows/{quote(workflow, safe='')}/runs", None
        for page in range(1, MAX_RUN_PAGES + 1):
            query = {"per_page": str(RUNS_PAGE), "page": str(page)}
            runs = self._read(RUNS, path, query).workflow_runs
            recent = [run for run in runs if run.created_at >= since]
            first = next((run for run in reversed(recent) if run.is_named(name)), first)
            if len(recent) < len(runs) or len(runs) < RUNS_PAGE:
                break
        return first

    def run(self, run_id: int) -> WorkflowRun:
        """Return a run's current state."""
        return self._read(RUN, f"runs/{run_id}")

    def jobs(self, run_id: int) -> tuple[WorkflowJob, ...]:
        """Return the first jobs, at most 30, of a run's last attempt."""
        return self._read(JOBS, f"runs/{run_id}/jobs").jobs

    def cancel(self, run_id: int) -> None:
        """Request that a run be cancelled; leave one that has ended as it is."""
        try:
            self._call("POST", f"runs/{run_id}/cancel")
        except ActionsError as error:
            if _status(error) != ENDED:
                raise

    def artifact(self, run_id: int, name: str, *, max_bytes: int) -> bytes | None:
        """Return the run's newest artifact archive of this name, None without one."""
        artifacts = self._read(ARTIFACTS, f"runs/{run_id}/artifacts", {"name": name}).artifacts
        ids = [one.id for one in artifacts if one.name == name]
        return self._download(f"artifacts/{max(ids)}/zip", max_bytes) if ids else None

    def job_log(self, job_id: int, *, max_bytes: int) -> bytes:
        """Return the output of a job that has ended."""
        return self._download(f"jobs/{job_id}/logs", max_bytes)

    def _download(self, path: str, max_bytes: int) -> bytes:
        with self._actions_errors():
            return download(self._api, f"{self._root}/{path}", auth=self._auth, max_bytes=max_bytes)

    def _read(
        self,
        document: msgspec.json.Decoder[_Document],
        path: str,
        params: Mapping[str, str] | None = None,
    ) -> _Document:
        answer = self._call("GET", path, params=params)
        with self._actions_errors():
            return decode_answer(answer, document)

    def _call(
        self,
        method: str,
        path: str,
        *,
        json: Mapping[str, object] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> Response:
        url = f"{self._root}/{path}"
        with self._actions_errors():
            return self._api.request(method, url, auth=self._auth, json=json, params=params)

    @contextmanager
    def _actions_errors(self) -> Generator[None]:
        """Translate errors of GitHub's API into the launcher's, by what the request did."""
        try:
            self._api.check_limit()
        except GitHubError as error:
            msg, effect = str(error), RequestEffect.POSTPONED
            raise ActionsError(msg, effect=effect, wait_s=error.wait_s) from error
        try:
            yield
        except GitHubError as error:
            raise ActionsError(str(error), effect=_effect(error), wait_s=error.wait_s) from error


def open_workflow_runs(
    *, api_url: str, token: SecretStr | None, repository: str
) -> GitHubWorkflowRuns:
    """Return the workflow runs of a repository; raise SettingsError without a token."""
    if token is None:
        msg = (
            "the launcher has no token: set PERFLEDGER_GITHUB_TOKEN to a fine-grained token that "
            f"may read and write the Actions of {repository}"
        )
        raise SettingsError(msg)
    return GitHubWorkflowRuns(GitHubApi(api_url), token, repository)


def _status(error: ActionsError) -> int | None:
    """Return the HTTP status that an error is about, None without an answer."""
    cause = error.__cause__
    return cause.github_status if isinstance(cause, GitHubError) else None


def _effect(error: GitHubError) -> RequestEffect:
    if not error.is_transient:
        return RequestEffect.REFUSED
    return RequestEffect.POSTPONED if error.github_status in LIMITED else RequestEffect.UNKNOWN
