"""Stores reviews and reads them back."""

import gzip
from collections.abc import Mapping
from datetime import datetime

import msgspec
from sqlalchemy import ColumnElement
from sqlmodel import Session, col, select

from perfledger_service.errors import NotFoundError
from perfledger_service.store.reviews.tables import ReviewDocumentRow, ReviewRow
from perfledger_service.store.tables import ProjectRow
from perfledger_service.values.service_views.reviews import NewReview, StoredReview

MAX_REVIEWS = 100  # on a project's page
_STORED_REVIEW_DECODER = msgspec.json.Decoder(StoredReview)


def add_review(
    session: Session,
    project_id: int,
    review: NewReview,
    documents: Mapping[str, bytes],
    *,
    now: datetime,
) -> int:
    """Store a review with its documents by format, and return its number."""
    row = ReviewRow(
        project_id=project_id,
        quarter=review.quarter,
        made_on=review.made_on,
        title=review.title,
        sheet=review.sheet,
        decision=review.decision,
        reason=review.reason,
        stored_at=now,
    )
    session.add(row)
    session.flush()
    assert row.id is not None  # noqa: S101 - it is stored
    for form, content in documents.items():
        packed = gzip.compress(content, mtime=0)
        session.add(
            ReviewDocumentRow(
                review_id=row.id, form=form, unpacked_bytes=len(content), content=packed
            )
        )
    session.flush()
    return row.id


def reviews_of_project(session: Session, project_id: int) -> tuple[StoredReview, ...]:
    """Return a project's newest MAX_REVIEWS reviews, the newest quarter first."""
    return _newest(session, col(ReviewRow.project_id) == project_id)


def reviews_of_quarter(session: Session, project_id: int, quarter: str) -> tuple[StoredReview, ...]:
    """Return a project's newest MAX_REVIEWS reviews of a quarter, the newest first."""
    return _newest(
        session, col(ReviewRow.project_id) == project_id, col(ReviewRow.quarter) == quarter
    )


def stored_review(session: Session, project_id: int, review_id: int) -> StoredReview:
    """Return a review of a project; raise NotFoundError for any other."""
    reviews = _newest(
        session, col(ReviewRow.project_id) == project_id, col(ReviewRow.id) == review_id
    )
    if not reviews:
        msg = f"no review {review_id} in this project"
        raise NotFoundError(msg)
    return reviews[0]


def review_document(session: Session, review: StoredReview, form: str) -> bytes:
    """Return a document of a review; raise NotFoundError where it was not made."""
    content = session.exec(
        select(ReviewDocumentRow.content).where(
            col(ReviewDocumentRow.review_id) == review.id, col(ReviewDocumentRow.form) == form
        )
    ).first()
    if content is None:
        msg = f"the review {review.quarter} was made without {form}"
        raise NotFoundError(msg)
    return gzip.decompress(content)


def _newest(session: Session, *conditions: ColumnElement[bool]) -> tuple[StoredReview, ...]:
    """Return the newest MAX_REVIEWS reviews under some conditions, the newest quarter first."""
    rows = session.exec(
        select(ReviewRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(*conditions)
        .order_by(col(ReviewRow.quarter).desc(), col(ReviewRow.id).desc())
        .limit(MAX_REVIEWS)
    ).all()
    sizes = _sizes(session, [row.id for row, _ in rows if row.id is not None])
    return tuple(
        row.to_value(
            _STORED_REVIEW_DECODER, repository=repository, documents=sizes.get(row.id or 0, {})
        )
        for row, repository in rows
    )


def _sizes(session: Session, review_ids: list[int]) -> dict[int, dict[str, int]]:
    sizes: dict[int, dict[str, int]] = {}
    for review_id, form, size in session.exec(
        select(
            ReviewDocumentRow.review_id, ReviewDocumentRow.form, ReviewDocumentRow.unpacked_bytes
        ).where(col(ReviewDocumentRow.review_id).in_(review_ids))
    ):
        sizes.setdefault(review_id, {})[form] = size
    return sizes
