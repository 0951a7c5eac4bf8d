"""Renders the pages of reviews stored in the service."""

from collections.abc import Sequence

from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import Column, Document, fact, facts, table
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.escape import path
from perfledger_service.values.service_views.reviews import StoredReview

# The purpose of each format, in page order.
_USES = {
    "pdf": "to sign off",
    "xlsx": "with live formulas",
    "json": "for programs, and for the next review's --previous",
    "csv": "the bill by team, in FOCUS 1.2",
}


def reviews_page(repository: str, reviews: Sequence[StoredReview]) -> str:
    """Return the page of a project's reviews."""
    return render(
        "html/reviews.html.j2",
        repository=repository,
        reviews=[(one, _address(one), _documents(one)) for one in reviews],
        day=number_format.day,
        moment=number_format.moment,
    )


def review_page(review: StoredReview, *, has_web_page: bool) -> str:
    """Return the page of one review."""
    return render(
        "html/review_page.html.j2",
        review=review,
        address=_address(review),
        has_web_page=has_web_page,
        documents=_documents(review),
        day=number_format.day,
        moment=number_format.moment,
        size=number_format.byte_count,
    )


def reviews_document(repository: str, reviews: Sequence[StoredReview]) -> Document:
    """Return a project's reviews, with the addresses of their pages."""
    return Document(
        name="perfledger-reviews",
        facts={"repository": repository},
        blocks=(table(_COLUMNS, reviews, key="reviews"),),
    )


def _address(review: StoredReview) -> str:
    return f"/{path(review.repository)}/reviews/{review.id}"


def _documents(review: StoredReview) -> list[tuple[str, str, int]]:
    """Return the format, the purpose and the bytes of each document that can be downloaded."""
    return [
        (form, use, review.documents[form])
        for form, use in _USES.items()
        if form in review.documents
    ]


_COLUMNS: tuple[Column[StoredReview], ...] = (
    *facts("id", "quarter", "made_on", "title", "sheet", "decision", "reason", "stored_at"),
    fact("documents", lambda one: sorted(one.documents)),
    fact("address", _address),
)
