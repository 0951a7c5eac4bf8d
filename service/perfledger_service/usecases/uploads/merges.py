"""Records that pull requests were closed: merged as a commit of their branch, or abandoned."""

from datetime import datetime

from sqlalchemy import Engine

from perfledger_runners.bundles.validation import SHA
from perfledger_service.errors import NotFoundError
from perfledger_service.store.comments.acceptances import set_merged
from perfledger_service.store.comments.fork_permissions import revoke_permissions
from perfledger_service.store.database import write_session
from perfledger_service.store.events.merges import add_merge
from perfledger_service.store.projects import lock_project
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.usecases.events.pull_requests import close_events, merge_events
from perfledger_service.usecases.jobs.pull_requests import cancel_jobs_of
from perfledger_service.usecases.server.project import project_of_delivery


def receive_closing(
    engine: Engine,
    repository: str,
    repository_id: int,
    pull_request: int,
    *,
    merged_sha: str | None,
    now: datetime,
) -> str:
    """Record that a pull request was merged as a commit, or closed without merging (None).

    Returns why it is not recorded, or "". Its acceptances, now or later, name the commit.
    """
    is_commit = merged_sha is None or SHA.fullmatch(merged_sha)
    if not (0 < pull_request <= MAX_PULL_REQUEST and is_commit):
        return "no such pull request or commit"
    with write_session(engine) as session:
        try:
            project = project_of_delivery(session, repository, repository_id)
        except NotFoundError as error:
            return str(error)
        lock_project(session, project.id)
        reason = "the pull request is closed"
        cancel_jobs_of(session, project.id, pull_request, reason=reason, now=now)
        revoke_permissions(session, project.id, pull_request, revoked_at=now)
        if merged_sha is None:
            close_events(session, project.id, pull_request, now=now)
        else:
            add_merge(session, project.id, pull_request, merged_sha)
            set_merged(session, project.id, pull_request, merged_sha)
            merge_events(session, project.id, pull_request, merged_sha, now=now)
        session.commit()
    return ""
