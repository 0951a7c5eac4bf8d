"""Posts the check run of a commit, which may be the head of several open pull requests.

GitHub shows it on all of them: it must not be green on one because another, which is compared with
another base, is, nor wait for one that was closed.
"""

from collections.abc import Sequence
from datetime import datetime
from itertools import chain

from sqlalchemy import Engine

from perfledger_runners.bundles.validation import SHA
from perfledger_service.errors import NotFoundError
from perfledger_service.github.pull_requests import CheckRunContent, PullRequests
from perfledger_service.rendering.check.class_sections import classes_summary
from perfledger_service.rendering.check_run.annotations import code_annotations
from perfledger_service.store.database import read_session
from perfledger_service.store.github_posts import PostedIds, posted_ids
from perfledger_service.store.heads.uploads import other_heads
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import CheckedHead
from perfledger_service.usecases.server.project import project_of_delivery
from perfledger_service.usecases.uploads.machine_classes import (
    conclude_commit,
    pull_request_report,
    work_at,
)
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.jobs.queued_work import QueuedCheck
from perfledger_service.values.pull_request_report import (
    CodeAnnotation,
    OtherPullRequest,
    PullRequestReport,
)

MAX_ANNOTATED_FILES = 20  # each costs a request to GitHub
MAX_CHECK_POSTS = 5  # while results come in
CHECK_NAME = "perfledger"
# Each costs a question to GitHub. Any beyond them count as open.
MAX_QUESTIONS = 20


class SameCommit:
    """The pull requests of a head's commit; GitHub is asked once about each other one."""

    def __init__(
        self,
        engine: Engine,
        head: CheckedHead,
        pull_requests: PullRequests,
        *,
        reports: UploadReports,
        public_url: str,
        now: datetime,
    ) -> None:
        self._engine = engine
        self._head = head
        self._pull_requests = pull_requests
        self._reports = reports
        self._public_url = public_url
        self._now = now
        self._is_open: dict[int, bool] = {}

    def post_check(self, posts: PostedIds) -> int | None:
        """Post the check run with the worst result of those that share it, and return its id.

        Results may come while it is posted: whoever posts last reads them afterwards, and posts
        again.
        """
        url = self._page(self._head)
        check_run_id = posts.check_run_id
        result, other_reports = self._result(self._head), self.reports()
        annotations: tuple[CodeAnnotation, ...] | None = None
        for _ in range(MAX_CHECK_POSTS):
            conclusion, title = conclude_commit(result, other_reports)
            if conclusion is not None and annotations is None:
                annotations = annotations_of(self._pull_requests, self._head, result)
            check = CheckRunContent(
                name=CHECK_NAME,
                head_sha=self._head.head_sha,
                conclusion=conclusion or "",
                title=title,
                summary=classes_summary(
                    result, public_url=self._public_url, url=url, other_reports=other_reports
                ),
                details_url=url,
                external_id=posts.upload_id,
                annotations=annotations or (),
            )
            repository = self._head.repository
            check_run_id = post_check_run(self._pull_requests, repository, check, check_run_id)
            result, other_reports = self._result(self._head), self.reports()
            if conclude_commit(result, other_reports) == (conclusion, title):
                break
        return check_run_id

    def post_check_of_another(self) -> None:
        """Post the check run for another pull request, because the head's no longer counts.

        What was posted is not stored: the other's own posts find the check run.
        """
        with read_session(self._engine) as session:
            heads = other_heads(session, self._head)
        open_head = next(filter(self._is_at, heads), None)
        if open_head is None:
            return
        with read_session(self._engine) as session:
            posts = posted_ids(session, open_head)
        SameCommit(
            self._engine,
            open_head,
            self._pull_requests,
            reports=self._reports,
            public_url=self._public_url,
            now=self._now,
        ).post_check(posts)

    def reports(self) -> tuple[OtherPullRequest, ...]:
        """Return the current results of the other pull requests. Raises GitHubError."""
        with read_session(self._engine) as session:
            heads = other_heads(session, self._head)
        return tuple(
            OtherPullRequest(number=one.pull_request, result=self._result(one), url=self._page(one))
            for one in heads
            if self._is_at(one)
        )

    def _result(self, head: CheckedHead) -> PullRequestReport:
        with read_session(self._engine) as session:
            return pull_request_report(session, head, reports=self._reports, now=self._now)

    def _page(self, head: CheckedHead) -> str:
        return f"{self._public_url}/{head.repository}/pull/{head.pull_request}"

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


def checks_to_post(
    engine: Engine,
    repository: str,
    repository_id: int,
    pull_request: int,
    head_sha: str,
    *,
    is_at: bool,
    now: datetime,
) -> tuple[QueuedCheck, ...]:
    """Return the check to post after a pull request came to a commit that others have, or left it.

    An unknown repository, pull request or commit has none.
    """
    if not (0 < pull_request <= MAX_PULL_REQUEST and SHA.fullmatch(head_sha)):
        return ()
    with read_session(engine) as session:
        try:
            project = project_of_delivery(session, repository, repository_id)
        except NotFoundError:
            return ()
        head = CheckedHead(
            project_id=project.id,
            repository=project.repository,
            pull_request=pull_request,
            head_sha=head_sha,
        )
        heads = other_heads(session, head)
    if not heads:
        return ()
    return (work_at(head if is_at else heads[0], now),)


def annotations_of(
    pull_requests: PullRequests, head: CheckedHead, result: PullRequestReport
) -> tuple[CodeAnnotation, ...]:
    """Return the annotations of a finished check, on lines that GitHub has at its head.

    A check in progress has none, because none can be taken back.
    """
    if result.conclusion is None:
        return ()
    reports = [one.report for one in result.classes if one.report is not None]
    annotations = tuple(dict.fromkeys(chain.from_iterable(map(code_annotations, reports))))
    paths = tuple(dict.fromkeys(one.path for one in annotations))[:MAX_ANNOTATED_FILES]
    lines = {path: pull_requests.line_count(head.repository, path, head.head_sha) for path in paths}
    return tuple(one for one in annotations if one.line <= (lines.get(one.path) or 0))


def post_check_run(
    pull_requests: PullRequests, repository: str, check: CheckRunContent, check_run_id: int | None
) -> int:
    """Update the head commit's check run, or add it.

    A check run cannot be deleted: if a lost answer left a second one, both say the same.
    """
    ours = pull_requests.check_runs(repository, check.head_sha, check.name)
    candidates = stored_first(ours, check_run_id)
    updated_ids = [one for one in candidates if pull_requests.update_check(repository, one, check)]
    return updated_ids[0] if updated_ids else pull_requests.create_check(repository, check)


def stored_first(ids: Sequence[int], stored_id: int | None) -> tuple[int, ...]:
    """Return ids without duplicates, the stored one first."""
    return tuple(dict.fromkeys((*filter(None, [stored_id]), *ids)))
