"""Asks GitHub whether heads with jobs or permissions are still their pull requests' newest.

A webhook reports this sooner; if none is set up, or one was missed, this is the fallback.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from sqlalchemy import Engine

from perfledger_service.errors import GitHubError
from perfledger_service.github.pull_requests import PullRequests
from perfledger_service.store.comments.fork_permissions import allowed_heads, revoke_head
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runner_jobs import open_runner_jobs
from perfledger_service.store.projects import lock_project, projects
from perfledger_service.store.uploads import CheckedHead
from perfledger_service.usecases.jobs.pull_requests import cancel_jobs_of

# Between two questions to GitHub about the heads of open checks.
POLL_INTERVAL = timedelta(minutes=5)
MAX_HEADS = 20  # heads to ask GitHub about in one poll

_log = structlog.stdlib.get_logger(__name__)


def check_heads(engine: Engine, pull_requests: PullRequests, *, now: datetime) -> None:
    """Cancel the jobs and revoke the permissions of heads that are closed or superseded.

    If there are many heads, each poll takes the next ones. If GitHub does not answer, the next poll
    continues.
    """
    for head in heads_of_turn(followed_heads(engine), now=now):
        try:
            current = pull_requests.pull_request(head.repository, head.pull_request)
        except GitHubError as error:
            _log.warning("heads are not checked", repository=head.repository, reason=str(error))
            return
        if current is None or not current.is_open:
            _end(engine, head, "the pull request is closed", now=now)
        elif current.head_sha != head.head_sha:
            reason = f"the pull request has a newer commit, {current.head_sha}"
            _end(engine, head, reason, now=now)


def followed_heads(engine: Engine) -> tuple[CheckedHead, ...]:
    """Return the heads that have open jobs, or that are a fork's and allowed."""
    with read_session(engine) as session:
        of_jobs = [
            CheckedHead(
                project_id=project.id,
                repository=project.repository,
                pull_request=job.pull_request,
                head_sha=job.head_sha,
            )
            for project in projects(session)
            for job in open_runner_jobs(session, project.id)
            if job.pull_request is not None
        ]
        return tuple(dict.fromkeys((*of_jobs, *allowed_heads(session))))


def heads_of_turn(heads: Sequence[CheckedHead], *, now: datetime) -> tuple[CheckedHead, ...]:
    """Return at most MAX_HEADS of heads, the next ones in each poll."""
    if len(heads) <= MAX_HEADS:
        return tuple(heads)
    first = int(now.timestamp() // POLL_INTERVAL.total_seconds()) * MAX_HEADS % len(heads)
    return (*heads[first:], *heads[:first])[:MAX_HEADS]


def _end(engine: Engine, head: CheckedHead, reason: str, *, now: datetime) -> None:
    with write_session(engine) as session:
        lock_project(session, head.project_id)
        revoke_head(session, head, now=now)
        cancel_jobs_of(
            session,
            head.project_id,
            head.pull_request,
            head_sha=head.head_sha,
            reason=reason,
            now=now,
        )
        session.commit()
