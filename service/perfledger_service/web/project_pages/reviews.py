"""Serves a project's stored quarterly reviews, and their documents."""

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query
from fastapi.responses import HTMLResponse, Response

from perfledger_service.rendering.review.stored import (
    review_page,
    reviews_document,
    reviews_page,
)
from perfledger_service.store.reviews.reviews import (
    review_document,
    reviews_of_project,
    stored_review,
)
from perfledger_service.usecases.review.document_format import ReviewFormat
from perfledger_service.web.pages import PageFormat, data_response
from perfledger_service.web.sign_in.readers import CurrentOwnPricesProject, CurrentPageReader

router = APIRouter(
    prefix="/{owner}/{name}/reviews", include_in_schema=False, default_response_class=Response
)
ReviewNumber = Annotated[int, Path(ge=1, le=2**31 - 1)]
# The document contains its own styles and loads nothing: no script, and nothing from outside.
DOCUMENT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
MEDIA_TYPES: Final = {
    ReviewFormat.HTML: "text/html; charset=utf-8",
    ReviewFormat.JSON: "application/json",
    ReviewFormat.CSV: "text/csv; charset=utf-8",
    ReviewFormat.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ReviewFormat.PDF: "application/pdf",
}


@router.get("")
def reviews(
    reader: CurrentPageReader,
    project: CurrentOwnPricesProject,
    output: Annotated[PageFormat, Query(alias="format")] = PageFormat.HTML,
) -> Response:
    """List the reviews of a project."""
    with reader.session() as session:
        stored = reviews_of_project(session, project.id)
    if output is PageFormat.HTML:
        return HTMLResponse(reviews_page(project.repository, stored))
    return data_response(reviews_document(project.repository, stored), output)


@router.get("/{review_id}")
def review(
    reader: CurrentPageReader, project: CurrentOwnPricesProject, review_id: ReviewNumber
) -> Response:
    """Show the decision of a review, with its documents."""
    with reader.session() as session:
        stored = stored_review(session, project.id, review_id)
    return HTMLResponse(review_page(stored, has_web_page=ReviewFormat.HTML in stored.documents))


@router.get("/{review_id}/{form}")
def document(
    reader: CurrentPageReader,
    project: CurrentOwnPricesProject,
    review_id: ReviewNumber,
    form: ReviewFormat,
) -> Response:
    """Return a document of a review: the web page to be shown, all others to be saved."""
    with reader.session() as session:
        stored = stored_review(session, project.id, review_id)
        content = review_document(session, stored, form)
    if form is ReviewFormat.HTML:
        headers = {"Content-Security-Policy": DOCUMENT_POLICY}
    else:
        headers = {"Content-Disposition": f'attachment; filename="review-{stored.quarter}.{form}"'}
    return Response(content, media_type=MEDIA_TYPES[form], headers=headers)
