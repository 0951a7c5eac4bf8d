"""Tests the documents that the API answers errors with: RFC 9457, with a stable type each."""

import re
from pathlib import Path

import pytest

from perfledger_service import errors
from perfledger_service.errors import PerfledgerError
from perfledger_service.web.responses.problems import STATUS_PROBLEMS, problem_of

PAGE = (Path(__file__).parents[4] / "docs/reference/errors.md").read_text(encoding="utf-8")
OURS = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, PerfledgerError)
]


@pytest.mark.parametrize("error", OURS, ids=lambda error: error.__name__)
def test_the_problem_of_each_error_is_its_own_and_on_the_page(error):
    assert "problem" in vars(error)
    assert re.search(rf"\| `{error.__name__}` \|.*\| `{error.problem}` \|", PAGE)
    assert sum(other.problem == error.problem for other in OURS) == 1


@pytest.mark.parametrize(("status", "name"), STATUS_PROBLEMS.items())
def test_the_problem_of_each_status_is_on_the_page(status, name):
    assert f"| `{name}` | {status} |" in PAGE


def test_a_status_without_a_name_explains_itself():
    assert problem_of(501, "later", name=None, path="/api/x").type == "about:blank"


def test_the_path_of_an_error_is_a_uri():
    assert (
        problem_of(404, "no", name=None, path="/api/v1/ä b\n").instance == "/api/v1/%C3%A4%20b%0A"
    )


@pytest.mark.parametrize(
    ("method", "path", "status", "name"),
    [
        ("GET", "/api/v1/priors", 401, "refused"),
        ("GET", "/api/v1/nothing/here", 404, "not-found"),
        ("DELETE", "/api/v1/uploads", 405, "method-not-allowed"),
        ("GET", "/api/v1/events?limit=0", 401, "refused"),
        ("POST", "/api/v1/jobs/take", 401, "refused"),
    ],
)
def test_every_error_of_the_api_is_a_problem_document(site, method, path, status, name):
    answer = site.client.request(method, path)

    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["type"] == f"urn:perfledger:problem:{name}"
    assert answer.json()["instance"] == path.partition("?")[0]


def test_pages_keep_their_html(site):
    page = site.client.get("/octo/nothing", headers={"Accept": "text/html"})

    assert page.headers["content-type"] == "text/html; charset=utf-8"
