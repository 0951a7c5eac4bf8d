"""Finds the uploads that report on a head, and the head that an upload reports on."""

from dataclasses import replace

from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from perfledger_service.store.heads.merge_groups import merge_group
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.tables import ExpectedClassRow, UploadRow
from perfledger_service.store.uploads import (
    MERGE_GROUP,
    CheckedHead,
    StoredUpload,
    newest_judged,
    uploads_where,
)
from perfledger_service.values.upload_views import UploadStatus


def uploads_of_head(session: Session, head: CheckedHead) -> tuple[StoredUpload, ...]:
    """Return the uploads of a head, without refused ones, last measured first.

    A merge group's uploads have no pull request, and compare with the group's own base.
    """
    return uploads_where(
        session,
        col(UploadRow.project_id) == head.project_id,
        col(UploadRow.head_sha) == head.head_sha,
        col(UploadRow.status) != UploadStatus.REFUSED,
        *_is_of(session, head),
        is_newest_first=True,
    )


def refused_of_head(session: Session, head: CheckedHead, *reasons: str) -> tuple[StoredUpload, ...]:
    """Return a head's judged uploads that were refused for some reasons, last measured first."""
    return uploads_where(
        session,
        col(UploadRow.project_id) == head.project_id,
        col(UploadRow.head_sha) == head.head_sha,
        col(UploadRow.status) == UploadStatus.REFUSED,
        col(UploadRow.reason).in_(reasons),
        col(UploadRow.judged_at).is_not(None),
        *_is_of(session, head),
        is_newest_first=True,
    )


def head_of(session: Session, upload: StoredUpload) -> CheckedHead | None:
    """Return the head of a pull request or merge group that an upload reports on, None if none."""
    if upload.pull_request is not None:
        return upload.head
    group = merge_group(session, upload.project_id, upload.head_sha)
    if group is None or group.base_sha != upload.base_sha or is_import(session, upload):
        return None
    return group_head(upload)


def group_head(upload: StoredUpload) -> CheckedHead:
    """Return an upload's head commit as a merge group's."""
    return CheckedHead(
        project_id=upload.project_id,
        repository=upload.repository,
        pull_request=MERGE_GROUP,
        head_sha=upload.head_sha,
    )


def is_import(session: Session, upload: StoredUpload) -> bool:
    """Return whether an upload is another tool's results."""
    return bool(uploads_where(session, col(UploadRow.id) == upload.id, IS_IMPORTED))


def decided_head(session: Session, upload: StoredUpload) -> CheckedHead | None:
    """Return the head of the pull request on which people decide about an upload, None if none.

    For a merge group it is the newest judged head of the pull request that the group is named
    after: a push would have taken it out of the queue.
    """
    head = head_of(session, upload)
    if head is None or not head.is_merge_group:
        return head
    group = merge_group(session, upload.project_id, upload.head_sha)
    newest = newest_judged(session, upload.project_id, group.pull_request) if group else None
    return None if newest is None else newest.head


def other_heads(session: Session, head: CheckedHead) -> tuple[CheckedHead, ...]:
    """Return the heads of other pull requests that are the same commit, in order of numbers.

    They are known if they were announced, or have an upload that was not refused.
    """
    of_uploads = select(UploadRow.pull_request).where(
        col(UploadRow.project_id) == head.project_id,
        col(UploadRow.head_sha) == head.head_sha,
        col(UploadRow.pull_request).is_not(None),
        col(UploadRow.status) != UploadStatus.REFUSED,
    )
    announced = select(ExpectedClassRow.pull_request).where(
        col(ExpectedClassRow.project_id) == head.project_id,
        col(ExpectedClassRow.head_sha) == head.head_sha,
        col(ExpectedClassRow.pull_request) != MERGE_GROUP,
    )
    numbers = {*filter(None, session.exec(of_uploads)), *session.exec(announced)}
    return tuple(replace(head, pull_request=one) for one in sorted(numbers - {head.pull_request}))


def _is_of(session: Session, head: CheckedHead) -> tuple[ColumnElement[bool], ...]:
    if not head.is_merge_group:
        return (col(UploadRow.pull_request) == head.pull_request,)
    group = merge_group(session, head.project_id, head.head_sha)
    base_sha = group.base_sha if group else ""  # of a commit that is no group's there are none
    return (
        col(UploadRow.pull_request).is_(None),
        col(UploadRow.base_sha) == base_sha,
        ~IS_IMPORTED,
    )
