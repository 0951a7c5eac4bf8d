"""Queries the checks that found a change of step time."""

from dataclasses import dataclass

from sqlalchemy import exists
from sqlmodel import Session, col, select

from perfledger.metrics import STEP_TIME
from perfledger_service.store.page_queries import COUNTED_STATUSES, IS_BELIEVED
from perfledger_service.store.quarter_queries import CHANGED_OUTCOMES, has_place
from perfledger_service.store.tables import UploadRow, VerdictRow
from perfledger_service.store.uploads import StoredUpload, upload_by_id


@dataclass(frozen=True, slots=True)
class ChangedUpload:
    """A check that found a change, and whether its head is known to be on the default branch."""

    upload: StoredUpload
    subject: str
    is_on_branch: bool


def changed_uploads(session: Session, project_id: int, *, most: int) -> tuple[ChangedUpload, ...]:
    """Return a project's newest checks that found a change of step time, newest first."""
    has_change = exists().where(
        col(VerdictRow.upload_id) == col(UploadRow.id),
        col(VerdictRow.metric) == STEP_TIME.name,
        col(VerdictRow.outcome).in_(CHANGED_OUTCOMES),
        col(VerdictRow.is_warning).is_(False),
    )
    rows = session.exec(
        select(UploadRow.id, UploadRow.head_subject, has_place(col(UploadRow.head_sha)))
        .where(
            col(UploadRow.project_id) == project_id,
            col(UploadRow.status).in_(COUNTED_STATUSES),
            col(UploadRow.base_sha) != col(UploadRow.head_sha),  # not part of the gate's tests
            IS_BELIEVED,
            has_change,
        )
        .order_by(col(UploadRow.created_at).desc(), col(UploadRow.id))
        .limit(most)
    ).all()
    return tuple(
        ChangedUpload(upload_by_id(session, upload_id), subject, bool(is_on_branch))
        for upload_id, subject, is_on_branch in rows
    )
