"""What was said on pull requests: GitHub's ids of comments and check runs, stored and found."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from perfledger_service.store.tables import SaidRow
from perfledger_service.store.uploads import StoredUpload


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """GitHub's ids of the pull request's comment and of the head commit's check run.

    `upload_id` is the upload that was last said about the head commit, "" for none.
    """

    comment_id: int | None
    check_run_id: int | None
    upload_id: str = ""


def said_before(session: Session, upload: StoredUpload) -> Said:
    """Return what is already there for an upload to be said in."""
    rows = session.exec(
        select(SaidRow)
        .where(
            col(SaidRow.project_id) == upload.project_id,
            col(SaidRow.pull_request) == upload.pull_request,
        )
        .order_by(col(SaidRow.updated_at).desc(), col(SaidRow.id).desc())
    ).all()
    comments = (row.comment_id for row in rows if row.comment_id is not None)
    here = next((row for row in rows if row.head_sha == upload.head_sha), None)
    return Said(
        comment_id=next(comments, None),
        check_run_id=here.check_run_id if here else None,
        upload_id=here.upload_id if here else "",
    )


def remember_said(session: Session, upload: StoredUpload, said: Said, *, now: datetime) -> None:
    """Store what an upload was said in."""
    assert upload.pull_request is not None  # noqa: S101 - it was said on one
    row = session.exec(
        select(SaidRow).where(
            col(SaidRow.project_id) == upload.project_id,
            col(SaidRow.pull_request) == upload.pull_request,
            col(SaidRow.head_sha) == upload.head_sha,
        )
    ).first()
    if row is None:
        row = SaidRow(
            project_id=upload.project_id,
            pull_request=upload.pull_request,
            head_sha=upload.head_sha,
            upload_id=upload.id,
            updated_at=now,
        )
    row.upload_id = upload.id
    row.comment_id = said.comment_id
    row.check_run_id = said.check_run_id
    row.updated_at = now
    session.add(row)
