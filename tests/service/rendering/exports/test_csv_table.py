"""Tests that a table in CSV is read again as it was, and holds no formula."""

import csv
from datetime import UTC, date, datetime
from io import BytesIO, StringIO

import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.rendering.exports.csv_table import csv_table
from perfledger_service.values.backups.manifest import ColumnKind
from perfledger_service.values.storage.export_tables import ExportColumn, ExportTable

TABLE = ExportTable(
    name="texts",
    meaning="two texts",
    key=("first",),
    columns=tuple(
        ExportColumn(name=name, kind=ColumnKind.TEXT, meaning="a text")
        for name in ("first", "second")
    ),
)
FORMULAS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def written(*rows):
    file = BytesIO()
    with csv_table(file, TABLE) as write:
        write(rows)
    return file.getvalue().decode()


def cell_of(value):
    """Return the cell of a value, as a reader of CSV has it."""
    _, row = csv.reader(StringIO(written((value, "")), newline=""))
    return row[0]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        (0.1, "0.1"),
        (5e-324, "5e-324"),
        (float("inf"), "INF"),
        (float("-inf"), "-INF"),
        (float("nan"), "NaN"),
        (date(2026, 11, 20), "2026-11-20"),
        (datetime(2026, 11, 20, 12, tzinfo=UTC), "2026-11-20T12:00:00Z"),
        (datetime(2026, 11, 20, 12, 0, 0, 5, tzinfo=UTC), "2026-11-20T12:00:00.000005Z"),
        (EventState.OPEN, "open"),
    ],
)
def test_a_value_is_written_as_a_table_schema_has_it(value, cell):
    assert cell_of(value) == cell


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "'=1", "'"]
)
def test_a_text_that_a_spreadsheet_computes_has_an_apostrophe_before_it(text):
    assert cell_of(text) == f"'{text}"


@given(st.text())
def test_every_text_can_be_read_again_and_is_no_formula(text):
    cell = cell_of(text)

    assert cell.removeprefix("'") == text
    assert not cell.startswith(FORMULAS)


def test_lines_end_as_rfc_4180_says_and_the_first_names_the_columns():
    assert written(("a", "b\r\nc"), ('"', ",")) == 'first,second\r\na,"b\r\nc"\r\n"""",","\r\n'
