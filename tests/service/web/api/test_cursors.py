"""Tests that a cursor is read again by the list that wrote it, and by no other."""

import pytest
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request

from perfledger_service.web.api.cursors import KeyPart, read_cursor, write_cursor

RUN = "1f" * 16
MOMENT = "2026-11-28T10:00:00.000001+00:00"
KEY = (MOMENT, RUN, 2)
PARTS = (KeyPart.MOMENT, KeyPart.RUN_ID, KeyPart.NUMBER)


def request(path="/api/v1/runs", query=""):
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query.encode()}
    return Request(scope | {"headers": [(b"host", b"service")]})


def test_a_cursor_is_the_key_that_it_was_written_for():
    cursor = write_cursor(request(query="limit=1"), 1, KEY)

    assert read_cursor(request(query="limit=9"), 1, cursor, PARTS) == KEY
    assert read_cursor(request(), 1, None, PARTS) is None


@pytest.mark.parametrize(
    ("question", "project", "parts"),
    [
        (request("/api/v1/series"), 1, PARTS),
        (request(query="status=judged"), 1, PARTS),
        (request(), 2, PARTS),
        (request(), 1, PARTS[:2]),
    ],
)
def test_a_cursor_of_another_list_is_refused(question, project, parts):
    cursor = write_cursor(request(), 1, KEY)

    with pytest.raises(RequestValidationError):
        read_cursor(question, project, cursor, parts)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *((KeyPart.NUMBER, value) for value in (-1, 2**31, 10**40, "1", RUN)),
        *((KeyPart.MOMENT, value) for value in ("x", "2026-01-01", "2026-01-01T00:00:00", 1)),
        (KeyPart.MOMENT, "0001-01-01T00:00:00+14:00"),
        (KeyPart.MOMENT, "1969-12-31T23:59:59+00:00"),
        (KeyPart.MOMENT, "3000-01-01T00:00:00+00:00"),
        (KeyPart.MOMENT, "9999-12-31T23:59:59-14:00"),
        *((KeyPart.RUN_ID, value) for value in ("y", RUN + "\n", RUN[:-1] + "\0", RUN.upper(), 1)),
    ],
)
def test_a_part_that_no_list_writes_is_refused_although_its_checksum_is_right(part, value):
    cursor = write_cursor(request(), 1, (value,))

    with pytest.raises(RequestValidationError):
        read_cursor(request(), 1, cursor, (part,))


@pytest.mark.parametrize("moment", ["1970-01-01T00:00:00+00:00", "2999-12-31T23:59:59+00:00"])
def test_a_moment_has_a_year_in_which_something_was_measured(moment):
    cursor = write_cursor(request(), 1, (moment,))

    assert read_cursor(request(), 1, cursor, (KeyPart.MOMENT,)) == (moment,)


@pytest.mark.parametrize("number", [0, 2**31 - 1])
def test_a_number_has_the_range_of_its_column(number):
    cursor = write_cursor(request(), 1, (number,))

    assert read_cursor(request(), 1, cursor, (KeyPart.NUMBER,)) == (number,)
