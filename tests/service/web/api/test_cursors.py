"""Tests that a cursor is read again by the list that wrote it, and by no other."""

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request

from perfledger_service.web.api.cursors import read_cursor, write_cursor


def request(path="/api/v1/runs", query=""):
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    return Request(scope | {"headers": [(b"host", b"service")]})


def test_a_cursor_is_the_key_that_it_was_written_for():
    cursor = write_cursor(request(query="limit=1"), 1, ("a", 2))

    assert read_cursor(request(query="limit=9"), 1, cursor, (str, int)) == ("a", 2)
    assert read_cursor(request(), 1, None, (str, int)) is None


@pytest.mark.parametrize(
    ("asked", "project", "types"),
    [
        (request("/api/v1/series"), 1, (str, int)),
        (request(query="status=judged"), 1, (str, int)),
        (request(), 2, (str, int)),
        (request(), 1, (str, str)),
    ],
)
def test_a_cursor_of_another_list_is_refused(asked, project, types):
    cursor = write_cursor(request(), 1, ("a", 2))

    with pytest.raises(RequestValidationError):
        read_cursor(asked, project, cursor, types)
