from datetime import UTC, date, datetime

from perfledger_service.rendering.review.stored import review_page
from perfledger_service.values.service_views.reviews import StoredReview


def test_only_documents_that_were_made_are_offered():
    review = StoredReview(
        id=3,
        repository="octo/models",
        quarter="2026Q3",
        made_on=date(2026, 11, 1),
        title="",
        sheet="list",
        decision="Keep today's option",
        reason="It is cheapest.",
        stored_at=datetime(2026, 11, 20, tzinfo=UTC),
        documents={"json": 2048},
    )
    page = review_page(review, has_web_page=False)

    assert 'href="/octo/models/reviews/3/json" download' in page
    assert "/reviews/3/pdf" not in page
    assert "Read the review" not in page
