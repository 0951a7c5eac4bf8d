"""Finds the other open pull requests whose head is the same commit.

A commit has one check run, which GitHub shows on all of them: it must not be green on one because
another, which is compared with another base, is.
"""

from datetime import datetime

from sqlalchemy import Engine

from perfledger_service.github.pull_requests import PullRequests
from perfledger_service.store.database import read_session
from perfledger_service.store.heads.uploads import other_heads
from perfledger_service.store.uploads import CheckedHead
from perfledger_service.usecases.uploads.machine_classes import pull_request_report
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.pull_request_report import OtherPullRequest

# Each costs a question to GitHub. Any beyond them count as open.
MAX_QUESTIONS = 20


class SameCommit:
    """The other open pull requests of a head's commit; GitHub is asked once about each."""

    def __init__(
        self,
        engine: Engine,
        head: CheckedHead,
        pull_requests: PullRequests,
        *,
        reports: UploadReports,
        now: datetime,
    ) -> None:
        self._engine = engine
        self._head = head
        self._pull_requests = pull_requests
        self._reports = reports
        self._now = now
        self._is_open: dict[int, bool] = {}

    def reports(self, public_url: str) -> tuple[OtherPullRequest, ...]:
        """Return what the others have now; raise GitHubError."""
        with read_session(self._engine) as session:
            heads = other_heads(session, self._head)
        is_open = [self._is_at(one) for one in heads]
        with read_session(self._engine) as session:
            return tuple(
                OtherPullRequest(
                    number=one.pull_request,
                    result=pull_request_report(session, one, reports=self._reports, now=self._now),
                    url=f"{public_url}/{one.repository}/pull/{one.pull_request}",
                )
                for one, is_counted in zip(heads, is_open, strict=True)
                if is_counted
            )

    def _is_at(self, head: CheckedHead) -> bool:
        """Return whether a pull request is open, and its head is still the commit."""
        number = head.pull_request
        if number not in self._is_open:
            if len(self._is_open) >= MAX_QUESTIONS:
                return True
            current = self._pull_requests.pull_request(head.repository, number)
            self._is_open[number] = (
                current is not None and current.is_open and current.head_sha == head.head_sha
            )
        return self._is_open[number]
