"""Tests the answers to errors: a status and one sentence, never a traceback."""

import asyncio
import sqlite3
from typing import Annotated

import httpx
import pytest
from fastapi import FastAPI, Query
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from perfledger_service.errors import (
    INTERNAL,
    ConflictError,
    GitHubError,
    NotFoundError,
    RefusedError,
    SettingsError,
    TooLargeError,
    UsageError,
)
from perfledger_service.web.responses.errors import NO_PAGE, add_error_responses
from perfledger_service.web.responses.headers import HEADERS

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def answer(error, path="/", **headers):
    """Return the answer to a request whose route raises the error."""
    app = FastAPI()
    add_error_responses(app)

    @app.get(path)
    def fail():
        raise error

    return get(app, path, **headers)


def get(app, path, **headers):
    async def ask():
        # What is answered with 500 is raised again for the server to log.
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.get(path, headers=headers)

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("say how"), 400),
        (NotFoundError("say how"), 404),
        (RefusedError("say how"), 403),
        (RefusedError("say how", status=401), 401),
        (ConflictError("say how"), 409),
        (TooLargeError("say how"), 413),
        (SettingsError("say how"), 500),
        (GitHubError("say how"), 502),
        (HTTPException(405, "say how"), 405),
    ],
)
def test_an_error_is_its_status_and_its_sentence(error, status):
    page, api = answer(error, "/page"), answer(error, "/api/v1/things")

    assert (page.status_code, page.text) == (status, f"{status}: say how\n")
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    assert (api.status_code, api.json()["detail"]) == (status, "say how")
    assert api.headers["content-type"] == "application/problem+json"


def test_a_browser_gets_a_page_that_leads_back():
    output = answer(NotFoundError("no pull request 9"), "/octo/models/pull/9", **BROWSER)

    assert output.status_code == 404
    assert output.headers["content-type"] == "text/html; charset=utf-8"
    assert 'href="/octo/models"' in output.text
    assert {name: output.headers[name] for name in HEADERS} == HEADERS


@pytest.mark.parametrize("path", ["/runs/1", "/series/7/points", "/", "/nothing"])
def test_a_page_that_is_of_no_project_leads_back_to_all_checks(path):
    text = answer(NotFoundError("say how"), path, **BROWSER).text

    assert 'aria-label="Project"' not in text
    assert "all checks" in text


def test_the_api_answers_a_browser_with_json():
    output = answer(NotFoundError("say how"), "/api/v1/things", **BROWSER)

    assert output.json() == {
        "type": "urn:perfledger:problem:not-found",
        "title": "Not Found",
        "status": 404,
        "detail": "say how",
        "instance": "/api/v1/things",
    }


def test_markup_in_an_error_stays_text():
    output = answer(NotFoundError("no <script>alert(1)</script>"))

    assert output.headers["content-type"].startswith("text/plain")
    assert output.headers["x-content-type-options"] == "nosniff"


def test_a_bug_is_said_without_its_content(caplog):
    output = answer(ZeroDivisionError("the canary"), "/bug")

    assert (output.status_code, output.text) == (500, f"500: {INTERNAL}\n")
    assert "a bug" in caplog.text
    assert "the canary" in caplog.text


def test_a_bug_too_has_the_security_headers():
    headers = answer(ZeroDivisionError()).headers

    assert {name: headers[name] for name in HEADERS} == HEADERS


def test_errors_of_the_service_are_logged_and_those_of_the_client_are_not(caplog):
    answer(UsageError("the client's"))
    answer(GitHubError("the service's"))

    assert "request failed" in caplog.text
    assert "the service's" in str([record.__dict__ for record in caplog.records])
    assert "the client's" not in str([record.__dict__ for record in caplog.records])


def test_without_a_token_the_answer_names_the_scheme():
    assert answer(RefusedError("a", status=401)).headers["www-authenticate"] == "Bearer"
    assert "www-authenticate" not in answer(RefusedError("a")).headers


def test_the_rest_of_a_body_that_is_too_large_is_not_read():
    assert answer(TooLargeError("a")).headers["connection"] == "close"
    assert "connection" not in answer(UsageError("a")).headers


def test_headers_of_an_http_error_are_kept():
    error = HTTPException(503, "later", headers={"Retry-After": "7"})

    assert answer(error).headers["retry-after"] == "7"


def test_a_client_that_is_gone_is_no_bug(caplog):
    output = answer(ClientDisconnect())

    assert output.status_code == 400
    assert "a bug" not in caplog.text


def test_a_path_that_is_no_number_is_not_found():
    app = FastAPI()
    add_error_responses(app)

    @app.get("/series/{number}")
    def show(number: int):
        return number

    assert get(app, "/series/7").json() == 7
    assert get(app, "/series/seven?side=left").text == f"404: {NO_PAGE}\n"
    assert get(app, "/nothing").text == f"404: {NO_PAGE}\n"


def test_a_query_that_is_invalid_is_named():
    app = FastAPI()
    add_error_responses(app)

    @app.get("/api/series")
    def show(newest: int, side: str):
        return newest, side

    output = get(app, "/api/series?newest=many")

    assert output.status_code == 422
    assert output.json()["detail"].startswith(
        "the request is invalid: newest: Input should be a valid integer"
    )
    assert "side: Field required" in output.json()["detail"]


def test_of_very_many_invalid_queries_the_first_are_named():
    app = FastAPI()
    add_error_responses(app)

    @app.get("/api/series")
    def show(number: Annotated[list[int], Query()]):
        return number

    output = get(app, "/api/series?" + "&".join(["number=x"] * 1000))

    assert output.status_code == 422
    assert len(output.json()["detail"]) == 500


def database_error(error):
    return OperationalError("insert into upload values ('the canary')", {}, error)


def test_an_outage_of_the_database_asks_for_another_attempt_without_the_statement(caplog):
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL

    output = answer(database_error(full), "/api/v1/uploads")

    assert output.status_code == 503
    assert int(output.headers["retry-after"]) > 0
    assert output.json()["type"] == "urn:perfledger:problem:unavailable"
    assert "the database does not answer" in caplog.text
    assert "the canary" not in caplog.text
    assert "the canary" not in output.text
    assert {name: output.headers[name] for name in HEADERS} == HEADERS


def test_a_missing_table_is_a_bug():
    missing = sqlite3.OperationalError("no such table: upload")
    missing.sqlite_errorcode = sqlite3.SQLITE_ERROR

    assert answer(database_error(missing)).status_code == 500
