"""Tests storing a review with exactly the documents that were written."""

import pytest

from perfledger_service.errors import NotFoundError, TooLargeError
from perfledger_service.store.database import read_session
from perfledger_service.store.reviews.reviews import review_document, reviews_of_project
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.usecases.review import publishing
from perfledger_service.usecases.review.document_format import ReviewFormat
from perfledger_service.usecases.review.publishing import publish_review
from perfledger_service.usecases.server.project import add_project, project_of_name
from perfledger_service.values.people.person import Actor

pytestmark = pytest.mark.slow  # the example takes a second to build
FORMS = (ReviewFormat.HTML, ReviewFormat.JSON)


@pytest.fixture
def project(engine, now):
    add_project(engine, "octo/models", token="pl_0123abcd_" + "s" * 43, now=now)
    return project_of_name(engine, "octo/models")


@pytest.fixture
def publish(engine, project, example, tmp_path, now):
    def publish(*forms):
        lines = publish_review(
            engine,
            project,
            example,
            tmp_path / "out",
            forms=forms,
            public_url="https://ledger.example/",
            actor=Actor(name="ada"),
            now=now,
        )
        return list(lines)

    return publish


def test_the_audit_log_says_who_stored_a_review(publish, engine, example):
    publish(ReviewFormat.JSON)

    [entry] = audit_log(engine, most=9)
    assert (entry.actor, entry.repository) == ("ada", "octo/models")
    assert entry.detail == f"review 1 of {example.quarter.name} is stored"


def test_what_is_stored_is_what_was_written(publish, engine, project, example, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "review.pdf").write_bytes(b"of another review")

    *_, address = publish(*FORMS)

    with read_session(engine) as session:
        [stored] = reviews_of_project(session, project.id)
        for form in FORMS:
            written = (tmp_path / "out" / f"review.{form}").read_bytes()
            assert review_document(session, stored, form) == written
    assert address == f"https://ledger.example/octo/models/reviews/{stored.id}"
    assert set(stored.documents) == {"html", "json"}
    assert (stored.quarter, stored.made_on) == ("2026Q3", example.made_on)
    assert stored.sheet.startswith("packaged-")
    assert stored.decision in (tmp_path / "out" / "review.html").read_text()


def test_a_quarter_that_is_published_again_is_a_second_review(publish, engine, project):
    publish(ReviewFormat.JSON)
    publish(ReviewFormat.JSON)

    with read_session(engine) as session:
        assert [one.quarter for one in reviews_of_project(session, project.id)] == ["2026Q3"] * 2


def test_a_document_that_is_too_large_is_refused_and_nothing_stored(
    publish, engine, project, monkeypatch
):
    monkeypatch.setattr(publishing, "MAX_DOCUMENT_BYTES", 100)

    with pytest.raises(TooLargeError, match="leave it out with --format"):
        publish(ReviewFormat.JSON)
    with read_session(engine) as session:
        assert reviews_of_project(session, project.id) == ()


def test_no_project_is_an_error_before_anything_is_computed(engine):
    with pytest.raises(NotFoundError):
        project_of_name(engine, "octo/none")
