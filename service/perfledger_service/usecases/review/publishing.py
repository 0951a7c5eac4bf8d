"""Stores a review in the service, where the maintainers of a project read it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_cost_models.review.document import Review
from perfledger_service.errors import TooLargeError
from perfledger_service.rendering.review.first_page import first_page
from perfledger_service.store.database import write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import Project
from perfledger_service.store.reviews.reviews import add_review
from perfledger_service.usecases.review.document_format import ReviewFormat
from perfledger_service.usecases.review.documents import write_review
from perfledger_service.usecases.review.review import PRICE_LAYERS
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.service_views.reviews import NewReview

MAX_DOCUMENT_BYTES = 32 * 2**20  # the largest of the example has a thirtieth of this


def publish_review(
    engine: Engine,
    project: Project,
    review: Review,
    folder: Path,
    *,
    forms: Sequence[ReviewFormat],
    public_url: str,
    actor: Actor,
    now: datetime,
) -> Iterator[str]:
    """Write and store a review's documents, and yield a line about each.

    The audit log records who stored them. Raises TooLargeError for a document beyond
    MAX_DOCUMENT_BYTES, and as `write_review`.
    """
    documents: dict[str, bytes] = {}
    yield from write_review(review, folder, forms=forms, keep=documents.__setitem__)
    with write_session(engine) as session:
        number = store_review(session, project, review, documents, actor=actor, now=now)
        session.commit()
    yield f"{public_url.rstrip('/')}/{project.repository}/reviews/{number}"


def store_review(
    session: Session,
    project: Project,
    review: Review,
    documents: Mapping[str, bytes],
    *,
    actor: Actor,
    now: datetime,
) -> int:
    """Store a review's documents by format, note who did it, and return the review's number.

    Raises TooLargeError for a document beyond MAX_DOCUMENT_BYTES.
    """
    for form, content in documents.items():
        if len(content) > MAX_DOCUMENT_BYTES:
            msg = f"the review's {form} has {len(content):,} bytes: leave it out with --format"
            raise TooLargeError(msg)
    words = first_page(review)
    new = NewReview(
        quarter=review.quarter.name,
        made_on=review.made_on,
        title=review.title,
        sheet=" + ".join(one.origin for one in review.sources if one.name in PRICE_LAYERS),
        decision=words.take,
        reason=words.why,
    )
    number = add_review(session, project.id, new, documents, now=now)
    add_audit_entry(
        session,
        AuditAction.CHANGE_PROJECT,
        actor,
        project_id=project.id,
        detail=f"review {number} of {new.quarter} is stored",
        now=now,
    )
    return number
