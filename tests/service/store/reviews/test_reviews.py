from dataclasses import replace
from datetime import date

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_for
from perfledger_service.store.reviews.reviews import (
    MAX_REVIEWS,
    add_review,
    review_document,
    reviews_of_project,
    stored_review,
)
from perfledger_service.values.service_views.reviews import NewReview

REVIEW = NewReview(
    quarter="2026Q3", made_on=date(2026, 11, 1), title="", sheet="list", decision="d", reason="r"
)


def test_a_review_is_read_back_by_its_project_alone(any_engine, now):
    with write_session(any_engine) as session:
        mine, other = (project_for(session, name, now=now) for name in ("o/mine", "o/other"))
        number = add_review(session, mine.id, REVIEW, {"json": b"{}"}, now=now)

        review = stored_review(session, mine.id, number)
        assert (review.repository, review.documents) == ("o/mine", {"json": 2})
        assert review_document(session, review, "json") == b"{}"
        assert reviews_of_project(session, other.id) == ()
        with pytest.raises(NotFoundError, match="no review"):
            stored_review(session, other.id, number)
        with pytest.raises(NotFoundError, match="was made without pdf"):
            review_document(session, review, "pdf")


def test_a_review_that_a_page_has_no_place_for_is_still_read_by_its_number(any_engine, now):
    with write_session(any_engine) as session:
        project = project_for(session, "o/mine", now=now)
        old = replace(REVIEW, quarter="2001Q1")
        number = add_review(session, project.id, old, {"json": b"{}"}, now=now)
        for _ in range(MAX_REVIEWS):
            add_review(session, project.id, REVIEW, {}, now=now)

        listed = reviews_of_project(session, project.id)
        assert (len(listed), {one.quarter for one in listed}) == (MAX_REVIEWS, {"2026Q3"})
        assert stored_review(session, project.id, number).quarter == "2001Q1"
