from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.csv_table import (
    MAX_CELL_CHARS,
    MAX_SHEET_CHARS,
    PriceSheetError,
    csv_text,
    iso_date,
    read_rows,
)

COLUMNS = ("name", "value")


def read(text):
    return tuple(read_rows(text, "made-up", columns=COLUMNS))


def cell(value):
    (row,) = read(f'name,value\nx,"{value}"\n')
    return row


def test_rows_are_numbered_as_a_spreadsheet_does_and_columns_may_stand_in_any_order():
    rows = read('value,name\n1,"a, b"\n\n2,c\n')

    assert [(row.number, row.text("name"), row.decimal("value")) for row in rows] == [
        (2, "a, b", Decimal(1)),
        (4, "c", Decimal(2)),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty: a row with the names of the columns is needed"),
        ("name\n1\n", "has the columns"),
        ("name,value,extra\n", "has the columns"),
        ("name,name\n", "has the column 'name' twice"),
        ("name,value\n1\n", "line 2: 1 cells for 2 columns"),
        ("name,value\n1,2,3\n", "line 2: 3 cells for 2 columns"),
        ('name,value\n"1,2\n', "line 2, is not CSV: unexpected end of data"),
        ('name,value\n"1"x,2\n', "line 2, is not CSV: ',' expected after '\"'"),
        ("name,value\n" + "x" * 200_000 + ",2\n", "field larger than field limit"),
        (
            "name,value\n" + "x" * (MAX_CELL_CHARS + 1) + ",2\n",
            f"line 2, column 'name': '{'x' * 40}' has over 500 characters",
        ),
        ("x" * (MAX_SHEET_CHARS + 1), f"limit {MAX_SHEET_CHARS}. Split it"),
    ],
)
def test_what_is_not_a_clean_table_is_refused_with_the_place(text, problem):
    with pytest.raises(PriceSheetError, match="sheet 'made-up'") as caught:
        read(text)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "number",
    [
        "-1",
        "+1",
        "1e3",
        "nan",
        "inf",
        "Infinity",
        "1_000",
        "0x10",
        "٣",
        ".5",
        "5.",
        "9" * 10,
    ],
)
def test_a_number_is_a_plain_ascii_decimal_or_refused(number):
    with pytest.raises(PriceSheetError, match=r"line 2, column 'value': .* is not a plain decimal"):
        cell(number).decimal("value")


@pytest.mark.parametrize("number", ["1,000", "55,04", "1.234,5"])
def test_a_number_with_a_comma_is_refused_and_never_another_number(number):
    with pytest.raises(PriceSheetError, match="has a comma: write decimals with a point and thou"):
        cell(number).decimal("value")


def test_a_number_is_read_exactly():
    assert str(cell(" 21.957642 ").decimal("value")) == "21.957642"


@pytest.mark.parametrize("text", ["a\nb", "a\tb", "a\x00b", "a\u202eb", "a\x1b[31mb"])
def test_control_characters_in_a_cell_are_refused(text):
    with pytest.raises(PriceSheetError, match="control characters"):
        cell(text).text("value")


def test_an_empty_cell_is_refused_unless_it_may_be_empty():
    row = cell(" ")

    assert row.text("value", is_optional=True) == ""
    with pytest.raises(PriceSheetError, match=r"'value': ' ' is empty. Correct this cell"):
        row.text("value")


@pytest.mark.parametrize("day", ["2026-02-30", "20261120", "2026-W01-1", "20-11-2026", "2026"])
def test_a_day_is_written_year_month_day_or_refused(day):
    assert iso_date(day) is None
    with pytest.raises(PriceSheetError, match="is not a date such as 2026-11-20"):
        cell(day).day("value")


@given(st.dates())
def test_every_day_reads_as_it_is_written(day: date):
    assert iso_date(day.isoformat()) == day


def test_a_word_that_is_no_choice_is_refused_with_the_choices():
    row = cell("reject")

    assert row.one_of("value", ("reject", "high")) == "reject"
    with pytest.raises(PriceSheetError, match="'reject' is not one of high, low"):
        row.one_of("value", ("high", "low"))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_our_error(text):
    try:
        rows = read("name,value\n" + text)
    except PriceSheetError:
        return

    assert all(set(row.cells) == set(COLUMNS) for row in rows)


def test_rows_are_written_under_their_header():
    first, second = {"a": "1", "b": 'x, "y"'}, {"c": "left out"}

    assert csv_text(("a", "b"), [first, second]) == 'a,b\n1,"x, ""y"""\n,\n'
