"""Receives the merge groups of merge queues, and finds those that no webhook announced.

A group's head is a commit of a branch that GitHub makes, named after the group's last pull request
and the commit that it is compared with. GitHub lets others make branches with such names.
"""

import re
from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import CLASS_DEADLINE_S
from perfledger_runners.bundles.check_announcement import ANY_CLASS
from perfledger_runners.bundles.validation import SHA
from perfledger_service.errors import NotFoundError, PerfledgerError, RefusedError
from perfledger_service.github.actions_tokens import ActionsRun
from perfledger_service.github.pull_requests import PullRequests
from perfledger_service.store.branch_commits import is_on_branch
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.heads.merge_groups import MergeGroup, merge_group, put_merge_group
from perfledger_service.store.heads.uploads import group_head, head_of, is_import
from perfledger_service.store.projects import lock_project
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import (
    MERGE_GROUP,
    CheckedHead,
    StoredUpload,
    upload_by_id,
)
from perfledger_service.usecases.server.project import project_of_delivery
from perfledger_service.usecases.uploads.machine_classes import (
    announce_classes,
    deadline_work,
    work_at,
)
from perfledger_service.values.jobs.queued_work import QueuedCheck
from perfledger_service.values.upload_views import UploadSender

MERGE_GROUP_EVENT = "merge_group"
ENDINGS = frozenset({"merged", "dequeued", "invalidated"})
_REF = re.compile(r"refs/heads/gh-readonly-queue/.{1,1000}/pr-([1-9][0-9]{0,9})-([0-9a-f]{40,64})")


def group_of(head_ref: str, head_sha: str) -> MergeGroup | None:
    """Return the merge group of a branch at a commit, None if it is another kind of branch."""
    match = _REF.fullmatch(head_ref)
    if match is None or int(match[1]) > MAX_PULL_REQUEST or not SHA.fullmatch(head_sha):
        return None
    return MergeGroup(head_sha=head_sha, base_sha=match[2], pull_request=int(match[1]))


def receive_group(
    engine: Engine,
    repository: str,
    repository_id: int,
    group: MergeGroup,
    *,
    now: datetime,
) -> tuple[CheckedHead | None, str]:
    """Store a merge group whose checks GitHub requests, or one that it ended.

    Returns its head, whose check has to be posted, or None and why not. Any machine class is
    expected to report on a new group within the usual deadline. Deliveries may be late: a group
    that ended does not restart.
    """
    with write_session(engine) as session:
        try:
            project = project_of_delivery(session, repository, repository_id)
        except NotFoundError as error:
            return None, str(error)
        lock_project(session, project.id)
        earlier = merge_group(session, project.id, group.head_sha)
        if not group.ending and earlier is not None and earlier.ending:
            return None, f"the merge group was {earlier.ending}"
        put_merge_group(session, project.id, group, now=now)
        session.commit()
    if group.ending and earlier is None:
        return None, "no check of the merge group is posted"
    head = CheckedHead(
        project_id=project.id,
        repository=project.repository,
        pull_request=MERGE_GROUP,
        head_sha=group.head_sha,
    )
    if not group.ending:
        deadline = now + timedelta(seconds=CLASS_DEADLINE_S)
        try:
            announce_classes(engine, head, (ANY_CLASS,), deadline=deadline, now=now)
        except PerfledgerError as error:
            return None, str(error)
    return head, ""


def store_group_of_run(
    session: Session, project_id: int, run: ActionsRun, head_sha: str, *, now: datetime
) -> bool:
    """Store the merge group of a run, as named in GitHub's token; return whether it is one.

    A known end of the group is kept.
    """
    group = group_of(run.ref, head_sha)
    if run.event_name != MERGE_GROUP_EVENT or group is None or run.sha != head_sha:
        return False
    if merge_group(session, project_id, head_sha) is None:
        put_merge_group(session, project_id, group, now=now)
    return True


def check_announced_group(
    engine: Engine, project_id: int, run: ActionsRun | None, head_sha: str, *, now: datetime
) -> None:
    """Store the merge group that a run announces; raise RefusedError for any other run.

    A group announced with a project's token is looked up on GitHub before anything is posted.
    """
    if run is None:
        return
    with write_session(engine) as session:
        if not store_group_of_run(session, project_id, run, head_sha, now=now):
            msg = f"the run is by {run.event_name} of {run.ref[:80]!r}, not of a merge group's head"
            raise RefusedError(msg)
        session.commit()


def later_checks(engine: Engine, upload_id: str, *, now: datetime) -> tuple[QueuedCheck, ...]:
    """Return the checks that are due after an upload is judged: now, and at its head's deadlines.

    A pull request's check is posted with its upload, and is therefore not due now.
    """
    with read_session(engine) as session:
        head = possible_group(session, upload_by_id(session, upload_id))
    due_now = () if head is None else (work_at(head, now),)
    return (*due_now, *deadline_work(engine, upload_id))


def possible_group(session: Session, upload: StoredUpload) -> CheckedHead | None:
    """Return the head of the merge group that an upload may belong to, None if it cannot.

    A group that is not stored has to be looked up on GitHub.
    """
    if upload.pull_request is not None:
        return None
    if merge_group(session, upload.project_id, upload.head_sha) is not None:
        return head_of(session, upload)
    is_other = (
        upload.base_sha == upload.head_sha
        or upload.sender is UploadSender.BRANCH_RUN
        or is_on_branch(session, upload.project_id, upload.head_sha)
        or is_import(session, upload)
    )
    return None if is_other else group_head(upload)


def find_group(
    engine: Engine, head: CheckedHead, *, pull_requests: PullRequests, now: datetime
) -> MergeGroup | None:
    """Return a merge group, from GitHub if it is not stored; None if there is none.

    Raises GitHubError.
    """
    with read_session(engine) as session:
        stored = merge_group(session, head.project_id, head.head_sha)
    if stored is not None:
        return stored
    for branch in pull_requests.branches_at(head.repository, head.head_sha):
        group = group_of(f"refs/heads/{branch}", head.head_sha)
        if group is not None:
            with write_session(engine) as session:
                put_merge_group(session, head.project_id, group, now=now)
                session.commit()
            return group
    return None
