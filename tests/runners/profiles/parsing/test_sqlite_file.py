"""Databases of profilers are opened read-only, and what their queries may take is limited."""

import sqlite3
from contextlib import closing

import pytest

from perfledger_profiles.parsing.sqlite_file import MAX_TEXT_BYTES, open_database

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a #?%20 name.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE names (name TEXT)")
        connection.execute("INSERT INTO names VALUES (CAST(x'61ff62' AS TEXT))")
        connection.commit()
    return path


def test_a_database_of_any_name_is_read_and_its_text_is_made_readable(path):
    with closing(open_database(path, most_steps=10**9)) as connection:
        assert connection.execute("SELECT name FROM names").fetchall() == [
            ("a\N{REPLACEMENT CHARACTER}b",)
        ]


def test_nothing_is_written_to_it(path):
    before = path.read_bytes()

    with (
        closing(open_database(path, most_steps=10**9)) as connection,
        pytest.raises(sqlite3.OperationalError, match="readonly"),
    ):
        connection.execute("DELETE FROM names")
    assert path.read_bytes() == before


def test_a_query_without_end_is_ended(path):
    with (
        closing(open_database(path, most_steps=3_000_000)) as connection,
        pytest.raises(sqlite3.OperationalError, match="interrupted"),
    ):
        connection.execute(ENDLESS).fetchall()


def test_text_beyond_its_limit_is_refused(path):
    with closing(open_database(path, most_steps=10**9)) as connection:
        (length,) = connection.execute(f"SELECT length(zeroblob({MAX_TEXT_BYTES}))").fetchone()
        assert length == MAX_TEXT_BYTES
        with pytest.raises(sqlite3.DataError, match="too big"):
            connection.execute(f"SELECT hex(zeroblob({MAX_TEXT_BYTES}))").fetchone()


def test_a_file_that_is_missing_is_not_made(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        open_database(tmp_path / "gone", most_steps=10**9)
    assert list(tmp_path.iterdir()) == []
