"""Records that a pull request has a new head or another base: earlier results no longer count."""

from datetime import datetime, timedelta

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger.bundle import CLASS_DEADLINE_S
from perfledger.registration.workload_pattern import is_match
from perfledger_runners.bundles.validation import SHA
from perfledger_service.errors import GitHubError, NotFoundError
from perfledger_service.github.pull_requests import PullRequest, PullRequests
from perfledger_service.store.comments.fork_permissions import revoke_head
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.expected_classes import (
    add_expected_classes,
    expect_again,
    expected_classes,
)
from perfledger_service.store.heads.pull_request_bases import (
    base_of,
    note_base,
    note_head_of_change,
)
from perfledger_service.store.heads.uploads import refused_of_head, uploads_of_head
from perfledger_service.store.projects import lock_project
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import (
    CheckedHead,
    StoredUpload,
    restart_upload,
    set_status,
)
from perfledger_service.usecases.jobs.pull_requests import cancel_jobs_of
from perfledger_service.usecases.server.project import project_of_delivery
from perfledger_service.usecases.uploads.machine_classes import (
    OTHER_BASE,
    UNPLACED_BASE,
    work_at,
)
from perfledger_service.values.jobs.queued_work import QueuedCheck
from perfledger_service.values.upload_views import UploadStatus

NO_HEAD = "no such pull request or commit"
_DEADLINE = timedelta(seconds=CLASS_DEADLINE_S)


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
        return NO_HEAD
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


def receive_opening(
    engine: Engine,
    repository: str,
    repository_id: int,
    pull_request: int,
    *,
    head_sha: str,
    base_ref: str,
    now: datetime,
) -> str:
    """Record the base that a pull request was opened with; return why not, or "".

    Without it, GitHub has to be asked at the first result whether the base changed. A late delivery
    changes nothing.
    """
    if not (0 < pull_request <= MAX_PULL_REQUEST and SHA.fullmatch(head_sha) and base_ref):
        return NO_HEAD
    with write_session(engine) as session:
        try:
            project = project_of_delivery(session, repository, repository_id)
        except NotFoundError as error:
            return str(error)
        lock_project(session, project.id)
        head = CheckedHead(
            project_id=project.id,
            repository=project.repository,
            pull_request=pull_request,
            head_sha=head_sha,
        )
        if not base_of(session, head).base_ref:
            note_base(session, head, base_ref, now=now)
        session.commit()
    return ""


def receive_base_change(
    engine: Engine,
    repository: str,
    repository_id: int,
    pull_request: int,
    *,
    head_sha: str,
    before_ref: str,
    base_ref: str,
    now: datetime,
) -> tuple[tuple[QueuedCheck, ...], str]:
    """Record that a pull request is to be merged into another branch.

    Returns the checks of its head to post, now and when its machine classes are not measured: none
    if no check has begun, or without such a pull request, and why not. Which results are of another
    base is decided when they are posted.
    """
    is_valid = SHA.fullmatch(head_sha) and before_ref and base_ref
    if not (0 < pull_request <= MAX_PULL_REQUEST and is_valid):
        return (), NO_HEAD
    with write_session(engine) as session:
        try:
            project = project_of_delivery(session, repository, repository_id)
        except NotFoundError as error:
            return (), str(error)
        lock_project(session, project.id)
        head = CheckedHead(
            project_id=project.id,
            repository=project.repository,
            pull_request=pull_request,
            head_sha=head_sha,
        )
        has_check = bool(uploads_of_head(session, head) or expected_classes(session, head))
        if base_of(session, head).base_ref != base_ref:  # else repeated, or seen before it
            note_base(session, head, before_ref, now=now)
            note_base(session, head, base_ref, now=now)
            reason = "the pull request has another base now"
            cancel_jobs_of(session, project.id, pull_request, reason=reason, now=now)
        session.commit()
    return ((work_at(head, now), work_at(head, now + _DEADLINE)) if has_check else ()), ""


def refuse_other_bases(
    engine: Engine,
    head: CheckedHead,
    current: PullRequest,
    *,
    pull_requests: PullRequests,
    now: datetime,
) -> frozenset[str]:
    """Refuse a head's results that are of another base than its pull request's, and return them.

    Only a pull request whose base changed is examined; a later re-run of an old run of GitHub
    Actions still compares with the old base. Their machine classes are expected to report again. If
    GitHub does not say which base is right, all that came before the change is refused, and at the
    head of that time any result: it may be of such a re-run. A base that was right after the change
    stays right while the branch only grows. Raises GitHubError if it may say so later.
    """
    changed_at = _changed_at(engine, head, current, pull_requests, now=now)
    if changed_at is None:
        return frozenset()
    base_sha = _merge_base(head, current.base_ref, head.head_sha, pull_requests)
    right_bases = _right_bases(engine, head, base_sha, pull_requests, changed_at=changed_at)
    reason = OTHER_BASE if right_bases else UNPLACED_BASE
    with write_session(engine) as session:
        lock_project(session, head.project_id)
        note_head_of_change(session, head)
        is_at_change = base_of(session, head).changed_head == head.head_sha
        of_other_base = [
            one
            for one in _judged_uploads(session, head)
            if _is_of_other_base(one, right_bases, changed_at, is_at_change=is_at_change)
        ]
        for one in of_other_base:
            set_status(session, one.id, UploadStatus.REFUSED, reason=reason)
        for one in refused_of_head(session, head, OTHER_BASE, UNPLACED_BASE):
            if one.base_sha in right_bases:  # the base was changed back, or GitHub says it now
                restart_upload(session, one, retry_at=now)
        earlier_classes = {
            one.machine_class for one in of_other_base if one.created_at < changed_at
        }
        expect_again(session, head, sorted(earlier_classes), deadline=changed_at + _DEADLINE)
        patterns = [one.machine_class for one in expected_classes(session, head)]
        unexpected = {
            one.machine_class
            for one in of_other_base
            if not any(is_match(each, one.machine_class) for each in patterns)
        }
        add_expected_classes(session, head, sorted(unexpected), deadline=now + _DEADLINE)
        session.commit()
    return frozenset(one.id for one in of_other_base)


def changed_base(
    engine: Engine,
    head: CheckedHead,
    current: PullRequest,
    pull_requests: PullRequests,
    *,
    now: datetime,
) -> str:
    """Return the commit to compare a head with if its pull request's base changed, else "".

    Raises GitHubError.
    """
    changed_at = _changed_at(engine, head, current, pull_requests, now=now)
    if changed_at is None:
        return ""
    return _merge_base(head, current.base_ref, head.head_sha, pull_requests)


def _changed_at(
    engine: Engine,
    head: CheckedHead,
    current: PullRequest,
    pull_requests: PullRequests,
    *,
    now: datetime,
) -> datetime | None:
    """Return when a pull request's base last changed, as far as it is known by now.

    Without a delivery of its opening only GitHub knows it at first: the base may have changed
    before any check. If GitHub does not say, it counts as changed now, so that a result of another
    base is not believed. Raises GitHubError.
    """
    with read_session(engine) as session:
        base = base_of(session, head)
    if current.base_ref in {"", base.base_ref}:
        return base.changed_at
    earlier_change = None if base.base_ref else _earlier_change(head, pull_requests, now=now)
    with write_session(engine) as session:
        lock_project(session, head.project_id)
        note_base(session, head, current.base_ref, now=now, changed_at=earlier_change)
        changed_at = base_of(session, head).changed_at
        session.commit()
    return changed_at


def _earlier_change(
    head: CheckedHead, pull_requests: PullRequests, *, now: datetime
) -> datetime | None:
    """Return when a pull request's base last changed, None if never, now if GitHub says nothing."""
    try:
        return pull_requests.base_changed_at(head.repository, head.pull_request)
    except GitHubError as error:
        if error.is_transient:
            raise
    return now


def _right_bases(
    engine: Engine,
    head: CheckedHead,
    base_sha: str,
    pull_requests: PullRequests,
    *,
    changed_at: datetime,
) -> frozenset[str]:
    """Return the commits that results of a head may compare with, none if GitHub does not say.

    They are the one that is right now, and those before it on the branch with which a result was
    posted after the change: the branch has taken in commits of the head since.
    """
    if not base_sha:
        return frozenset()
    with read_session(engine) as session:
        posted_bases = {
            one.base_sha
            for one in _judged_uploads(session, head)
            if one.status is UploadStatus.POSTED and one.created_at >= changed_at
        }
    earlier = {
        one
        for one in posted_bases - {base_sha}
        if _merge_base(head, base_sha, one, pull_requests) == one
    }
    return frozenset({base_sha, *earlier})


def _merge_base(head: CheckedHead, revision: str, sha: str, pull_requests: PullRequests) -> str:
    """Return the newest common commit of a revision and a commit, "" if GitHub will not say."""
    try:
        return pull_requests.merge_base(head.repository, revision, sha)
    except GitHubError as error:
        if error.is_transient:
            raise
        return ""  # the App may not read commits


def _judged_uploads(session: Session, head: CheckedHead) -> tuple[StoredUpload, ...]:
    return tuple(one for one in uploads_of_head(session, head) if one.judged_at is not None)


def _is_of_other_base(
    upload: StoredUpload,
    right_bases: frozenset[str],
    changed_at: datetime,
    *,
    is_at_change: bool,
) -> bool:
    if right_bases:
        return upload.base_sha not in right_bases
    is_new = is_at_change and upload.status is not UploadStatus.POSTED  # what is posted was right
    return is_new or upload.created_at < changed_at
