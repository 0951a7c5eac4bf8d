"""Cancels pull-request jobs that are no longer needed."""

from datetime import datetime

from sqlmodel import Session

from perfledger_service.store.jobs.runner_jobs import open_runner_jobs
from perfledger_service.usecases.jobs.runner_queue import cancel_queued_job


def cancel_jobs_of(
    session: Session,
    project_id: int,
    pull_request: int,
    *,
    head_sha: str | None = None,
    of_fork: bool = False,
    reason: str,
    now: datetime,
) -> None:
    """Cancel the open jobs of a pull request, or of one of its heads, or those with a fork's code.

    The caller holds the project's lock and commits.
    """
    for job in open_runner_jobs(session, project_id):
        is_asked_for = head_sha in {None, job.head_sha} and (job.allows_fork or not of_fork)
        if job.pull_request == pull_request and is_asked_for:
            cancel_queued_job(session, job, reason=reason, now=now)
