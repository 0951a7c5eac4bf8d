"""Stores approvals of commits' costs."""

from datetime import date

import msgspec
from sqlmodel import Session, col, select

from perfledger_cost_models.change_price.cost_policy import Approval
from perfledger_service.store.comments.tables import ApprovalRow
from perfledger_service.store.uploads import CheckedHead, StoredUpload

# Per commit; further approvals are refused.
MAX_APPROVALS = 100


_APPROVAL_DECODER = msgspec.json.Decoder(Approval)


def add_approval(
    session: Session, upload: StoredUpload, approval: Approval, *, comment_id: int
) -> bool:
    """Store an approval of an upload's head, once per comment; return whether it is stored.

    The caller holds the project's lock.
    """
    assert upload.pull_request is not None  # noqa: S101 - a comment has one
    of_project = select(ApprovalRow).where(col(ApprovalRow.project_id) == upload.project_id)
    earlier = session.exec(of_project.where(col(ApprovalRow.comment_id) == comment_id)).first()
    if earlier is not None:
        return True
    today = approval.approved_at.date()
    if len(approvals_of(session, upload.head, today=today)) >= MAX_APPROVALS:
        return False
    session.add(
        ApprovalRow(
            project_id=upload.project_id,
            pull_request=upload.pull_request,
            head_sha=upload.head_sha,
            comment_id=comment_id,
            login=approval.login,
            is_author=approval.is_author,
            usd_per_year=str(approval.usd_per_year),
            covers_unpriced=approval.covers_unpriced,
            reason=approval.reason,
            approved_at=approval.approved_at,
            until=approval.until,
        )
    )
    return True


def approvals_of(
    session: Session, head: CheckedHead | None, *, today: date
) -> tuple[Approval, ...]:
    """Return the approvals of a pull request's head, oldest first; () without a pull request."""
    if head is None:
        return ()
    rows = session.exec(
        select(ApprovalRow)
        .where(
            col(ApprovalRow.project_id) == head.project_id,
            col(ApprovalRow.pull_request) == head.pull_request,
            col(ApprovalRow.head_sha) == head.head_sha,
        )
        .order_by(col(ApprovalRow.id))
    )
    return tuple(row.to_value(_APPROVAL_DECODER, is_over=row.until < today) for row in rows)
