"""Stored reviews over HTTP: who reads them, and what each document is served as."""

import csv
import io
from datetime import date

import pytest

from perfledger_service.store.database import write_session
from perfledger_service.store.projects import project_named
from perfledger_service.store.reviews.reviews import add_review
from perfledger_service.values.service_views.reviews import NewReview
from perfledger_service.web.project_pages.reviews import DOCUMENT_POLICY
from tests.cases import case

DOCUMENTS = {
    "html": b"<!doctype html><style>p { color: red }</style><p>The review",
    "json": b'{"format": "perfledger-review"}',
    "xlsx": b"PK\x03\x04",
}


def store(engine, now, repository="octo/models", *, quarter="2026Q3", documents=DOCUMENTS):
    review = NewReview(
        quarter=quarter,
        made_on=date(2026, 11, 1),
        title="Accelerators <for> 2027",
        sheet="list-2026-11.csv + ours.toml",
        decision="Recommended: 3 years",
        reason="It is cheaper in 97 of 100 draws.",
    )
    with write_session(engine) as session:
        project = project_named(session, repository)
        number = add_review(session, project.id, review, documents, now=now)
        session.commit()
    return number


@pytest.fixture
def stored(people_site, now):
    """Store a review of each project."""
    return [store(people_site.engine, now, name) for name in ("octo/models", "octo/other")]


@pytest.mark.usefixtures("stored")
@pytest.mark.slow(ci_only=True)
def test_reviews_are_for_maintainers_of_the_project(browser_of):
    for path in ["reviews", "reviews/1", "reviews/1/html", "reviews/1/json"]:
        with case(path=path):
            statuses = {"alice": 200, "carol": 200, "vera": 403, "bob": 404}
            for login, status in statuses.items():
                assert browser_of(login).get(f"/octo/models/{path}").status_code == status, login
            assert (
                browser_of("x", is_signed_in=False).get(f"/octo/models/{path}").status_code == 303
            )


@pytest.mark.usefixtures("stored")
def test_where_own_prices_are_shown_everybody_who_views_the_project_reads_them(
    browser_of, monkeypatch
):
    monkeypatch.setenv("PERFLEDGER_SHOW_OWN_PRICES", "true")

    assert browser_of("vera").get("/octo/models/reviews/1/html").status_code == 200
    assert browser_of("bob").get("/octo/models/reviews/1/html").status_code == 404


def test_where_pages_are_open_reviews_are_not_unless_own_prices_are_shown(
    site, make_bundle, now, monkeypatch
):
    site.judge(site.upload(make_bundle()).json()["id"])
    store(site.engine, now)
    assert site.get("/octo/models/reviews").status_code == 403
    assert "PERFLEDGER_SHOW_OWN_PRICES" in site.get("/octo/models/reviews").text

    monkeypatch.setenv("PERFLEDGER_SHOW_OWN_PRICES", "true")

    assert site.get("/octo/models/reviews").status_code == 200


@pytest.mark.usefixtures("stored")
def test_a_review_of_another_project_is_none(browser_of):
    alice = browser_of("alice")

    for path in ("reviews/2", "reviews/2/json", "reviews/99", "reviews/0", "reviews/1/pdf"):
        assert alice.get(f"/octo/models/{path}").status_code == 404, path
    assert alice.get("/octo/models/reviews/1/exe").status_code == 404


@pytest.mark.usefixtures("stored")
def test_the_web_page_runs_no_script_and_the_others_are_saved_as_files(browser_of):
    alice = browser_of("alice")
    page = alice.get("/octo/models/reviews/1/html")
    table = alice.get("/octo/models/reviews/1/xlsx")

    assert page.content == DOCUMENTS["html"]
    assert page.headers["content-security-policy"] == DOCUMENT_POLICY
    assert "script" not in DOCUMENT_POLICY
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert table.content == DOCUMENTS["xlsx"]
    assert table.headers["content-disposition"] == 'attachment; filename="review-2026Q3.xlsx"'
    assert table.headers["x-content-type-options"] == "nosniff"


def test_reviews_are_listed_by_quarter_with_their_prices_and_documents(
    browser_of, people_site, now
):
    store(people_site.engine, now)
    store(people_site.engine, now, quarter="2026Q4", documents={})
    alice = browser_of("alice")
    page, document = (
        alice.get("/octo/models/reviews").text,
        alice.get("/octo/models/reviews/1").text,
    )
    listed = alice.client.get("/octo/models/reviews", params={"format": "json"}).json()["reviews"]
    rows = csv.DictReader(io.StringIO(alice.get("/octo/models/reviews?format=csv").text))

    assert [one["quarter"] for one in listed] == ["2026Q4", "2026Q3"]
    assert [one["documents"] for one in listed] == [[], ["html", "json", "xlsx"]]
    assert [row["address"] for row in rows] == ["/octo/models/reviews/2", "/octo/models/reviews/1"]
    for text in (page, document):
        assert "Accelerators &lt;for&gt; 2027" in text
        assert "list-2026-11.csv + ours.toml" in text
    assert 'href="/octo/models/reviews/1/html"' in document
    assert "Read the review" not in alice.get("/octo/models/reviews/2").text


def test_without_a_review_the_page_says_how_to_make_one(browser_of):
    assert "--publish octo/models" in browser_of("alice").get("/octo/models/reviews").text
