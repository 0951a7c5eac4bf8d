"""Records that a pull request has a new head: the old one is no longer needed or allowed."""

from datetime import datetime

from sqlalchemy import Engine

from perfledger_runners.bundles.validation import SHA
from perfledger_service.errors import NotFoundError
from perfledger_service.store.comments.fork_permissions import revoke_head
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import lock_project
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import CheckedHead
from perfledger_service.usecases.jobs.pull_requests import cancel_jobs_of
from perfledger_service.usecases.server.project import project_of_delivery


def receive_push(
    engine: Engine,
    repository: str,
    repository_id: int,
    pull_request: int,
    *,
    before_sha: str,
    head_sha: str,
    now: datetime,
) -> str:
    """Cancel the jobs of a pull request's previous head, and revoke its permission.

    Return why not, or "".

    Deliveries may be late or repeated: jobs of any other commit are left alone.
    """
    is_commit = SHA.fullmatch(before_sha) and SHA.fullmatch(head_sha)
    if not (0 < pull_request <= MAX_PULL_REQUEST and is_commit):
        return "no such pull request or commit"
    with write_session(engine) as session:
        try:
            project = project_of_delivery(session, repository, repository_id)
        except NotFoundError as error:
            return str(error)
        lock_project(session, project.id)
        before = CheckedHead(
            project_id=project.id,
            repository=project.repository,
            pull_request=pull_request,
            head_sha=before_sha,
        )
        revoke_head(session, before, now=now)
        cancel_jobs_of(
            session,
            project.id,
            pull_request,
            head_sha=before_sha,
            reason=f"the pull request has a newer commit, {head_sha}",
            now=now,
        )
        session.commit()
    return ""
