"""Tests reading the columns of untrusted CSV and JSON: what is read, what is refused and why."""

import json
import math

import pytest
from hypothesis import given, strategies as st

from perfledger_service.errors import TooLargeError, UsageError
from perfledger_service.usecases.inputs import table_columns
from perfledger_service.usecases.inputs.table_columns import (
    MAX_COLUMNS,
    TableColumn,
    columns_of,
    number_or_nan,
    parse_json,
    quote_names,
    quote_text,
    read_csv,
    time_of,
)

NAN = pytest.approx(math.nan, nan_ok=True)
SOURCE = "history.csv"


def cells(table):
    """Return a table's cells by column."""
    return {column.name: column.cells for column in table.columns}


def numbers(table, name):
    (column,) = (column for column in table.columns if column.name == name)
    return table.numbers(column)


def json_columns(text):
    return columns_of(parse_json(text, SOURCE), SOURCE)


@pytest.mark.parametrize("gap", ["", " ", "nan", "NaN", "NA", "n/a", "null", "None"])
def test_a_gap_is_not_a_number(gap):
    assert number_or_nan(gap) == NAN
    assert number_or_nan(None) == NAN


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read_as_python_writes_it(number):
    assert number_or_nan(repr(number)) == number_or_nan(f" {number!r}\t") == number
    assert number_or_nan(number) == number


@pytest.mark.parametrize(
    "text", ["1_000", "inf", "infinity", "\N{THAI DIGIT ONE}", "3 ms", "0x10", "--1", "1e"]
)
def test_what_only_looks_like_a_number_is_refused(text):
    with pytest.raises(ValueError, match=r"is not a number$"):
        number_or_nan(text)


@pytest.mark.parametrize("cell", ["1e400", "9" * 5000, math.inf, -math.inf])
def test_a_number_without_end_is_refused(cell):
    with pytest.raises(ValueError, match=r"(infinite or|is) too large"):
        number_or_nan(cell)


def test_a_column_is_numeric_if_each_cell_is_a_number_or_a_gap():
    assert TableColumn("ms", ("1", "", "2")).is_numeric()
    assert not TableColumn("ms", ("1", "2 ms", "3")).is_numeric()
    assert not TableColumn("ms", ("", None)).is_numeric()


def test_a_column_is_mostly_numeric_if_more_than_half_of_its_cells_are():
    assert TableColumn("ms", ("1", "2 ms", "3")).is_mostly_numeric()
    assert not TableColumn("ms", ("1", "2 ms")).is_mostly_numeric()
    assert not TableColumn("ms", ("1", "")).is_mostly_numeric()


def test_quoted_text_is_short_and_has_nothing_that_a_terminal_obeys():
    shown_quote_text = quote_text("\x1b[31mred\N{RIGHT-TO-LEFT OVERRIDE}" + "x" * 1000)

    assert shown_quote_text.startswith("'[31mred")
    assert len(shown_quote_text) < 50
    assert "\x1b" not in shown_quote_text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in shown_quote_text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_ends_of_lines_do_not_matter(end):
    table = read_csv(end.join(["commit,ms", "a,1", "b,2", ""]), SOURCE)

    assert cells(table) == {"commit": ("a", "b"), "ms": ("1", "2")}
    assert table.places == [2, 3]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_the_one_that_the_first_line_has_most_of(delimiter):
    table = read_csv(f"the commit{delimiter}ms{delimiter}\na{delimiter}1{delimiter}\n", SOURCE)

    assert cells(table) == {"the commit": ("a",), "ms": ("1",)}


def test_quoted_cells_may_hold_anything():
    table = read_csv('commit,ms\n"a, ""b""\nc",1\nd,2\n', SOURCE)

    assert cells(table)["commit"] == ('a, "b"\nc', "d")
    assert table.places == [2, 4]


def test_a_file_of_numbers_alone_has_no_header():
    table = read_csv("1,4\n2,5\n3,6\n", SOURCE)

    assert cells(table) == {"column 1": ("1", "2", "3"), "column 2": ("4", "5", "6")}
    assert table.places == [1, 2, 3]


def test_a_header_without_rows_has_empty_columns():
    assert cells(read_csv("commit,ms\n", SOURCE)) == {"commit": (), "ms": ()}


def test_an_empty_line_among_single_values_is_a_gap_and_one_at_the_end_is_none():
    table = read_csv("ms\n1\n\n3\n\n\n", SOURCE)

    assert numbers(table, "ms") == (1.0, NAN, 3.0)
    assert table.places == [2, 3, 4]


def test_an_empty_line_after_a_cell_of_several_lines_is_one_gap():
    table = read_csv('label\n"a\nb"\n\nc\n', SOURCE)

    assert cells(table) == {"label": ("a\nb", "", "c")}
    assert table.places == [2, 4, 5]


def test_decimal_commas_are_no_columns_and_no_numbers():
    table = read_csv("ms;W\n1,5;2\n", SOURCE)

    assert numbers(table, "W") == (2.0,)
    with pytest.raises(UsageError, match=r"line 2: '1,5' has a comma: write decimals with a point"):
        numbers(table, "ms")
    with pytest.raises(UsageError, match=r"line 2: 2 cells for 1 columns: .* decimals with a"):
        read_csv("ms\n1,5\n", SOURCE)


def test_an_empty_line_of_a_table_is_nothing():
    assert cells(read_csv("commit,ms\na,1\n\nb,2\n", SOURCE))["ms"] == ("1", "2")


def test_a_cell_that_is_no_number_is_named_with_its_column_and_line():
    table = read_csv("commit,ms\na,1\nb,2\n\nc,3 ms\n", SOURCE)

    with pytest.raises(
        UsageError, match=r"^history\.csv, column 'ms', line 5: '3 ms' is not a number$"
    ):
        numbers(table, "ms")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "history.csv is empty"),
        ("\n\n", "history.csv is empty"),
        ("ms,ms\n1,2\n", "the column 'ms' twice"),
        ("commit,ms\na,1\nb,2,3\n", "line 3: 3 cells for 2 columns"),
        ('commit,ms\na,"1\n', "line 2, is not CSV: unexpected end of data"),
        ("commit,ms\na," + "x" * 200_000 + "\n", "line 2, is not CSV: field larger than"),
    ],
)
def test_a_csv_that_cannot_be_read_says_why_and_where(text, message):
    with pytest.raises(UsageError) as refused:
        read_csv(text, SOURCE)

    assert message in str(refused.value)


def test_an_error_names_twenty_columns_at_most():
    header = ",".join(f"c{place}" for place in range(30))

    names = read_csv(f"{header}\n{header}\n", SOURCE).names()

    assert names.startswith("'c0', 'c1', ")
    assert names.endswith("'c19', ...")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("[1, 2.5, null, NaN]", {"values": (1.0, 2.5, None, NAN)}),
        (
            '[{"sha": 12, "ms": 1}, {"ms": 2, "sha": null}]',
            {"sha": (12.0, None), "ms": (1.0, 2.0)},
        ),
        ('[{"a": 1}, {"b": 2}]', {"a": (1.0, None), "b": (None, 2.0)}),
        (
            '[{"ok": true, "no": false, "a": [1], "b": {}, "c": "x"}]',
            {"ok": ("true",), "no": ("false",), "a": ("[...]",), "b": ("{...}",), "c": ("x",)},
        ),
        (
            '{"values": [1, 2], "labels": ["a", "b"]}',
            {"labels": ("a", "b"), "values": (1.0, 2.0)},
        ),
        ('{"values": [1, 2], "labels": null}', {"values": (1.0, 2.0)}),
        ("[]", {"values": ()}),
        ("[1, {}]", {"values": (1.0, "{...}")}),
    ],
)
def test_json_is_read_in_its_usual_forms(text, columns):
    assert cells(json_columns(text)) == columns


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n", "history.csv is empty"),
        ("[1, 2", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1, 2, -Infinity]", "-Infinity is not a number"),
        ("{}", "JSON of an unknown form"),
        ("12", "JSON of an unknown form"),
        ('{"values": 1}', "JSON of an unknown form"),
        ('{"values": [1], "labels": ["a", "b"]}', "2 labels for 1 values"),
        ('[{"ms": 1, "ms": 2}]', "the key 'ms' is a duplicate"),
    ],
)
def test_json_that_cannot_be_read_says_why(text, message):
    with pytest.raises(UsageError) as refused:
        json_columns(text)

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("1e400", "infinite or too large"),
        ("9" * 5000, "infinite or too large"),
        ('"x"', "'x' is not a number"),
        ("true", "'true' is not a number"),
        ("[3]", "'[...]' is not a number"),
        ('{"ms": 3}', "'{...}' is not a number"),
    ],
)
def test_an_item_that_is_no_number_is_named_with_its_place(item, message):
    table = json_columns(f"[1, 2, {item}]")

    with pytest.raises(UsageError) as refused:
        numbers(table, "values")

    assert str(refused.value).startswith("history.csv, column 'values', item 3: ")
    assert message in str(refused.value)


@given(
    st.lists(
        st.fixed_dictionaries({"sha": st.text(), "ms": st.floats(0, 1e9), "gap": st.none()}),
        min_size=1,
    )
)
def test_rows_of_objects_come_back_as_columns(rows):
    table = json_columns(json.dumps(rows))

    assert cells(table) == {name: tuple(row[name] for row in rows) for name in rows[0]}


@pytest.mark.parametrize(
    ("read", "text"), [(read_csv, "ms,\n" + "1,\n" * 20), (parse_json, "[" + "1," * 20)]
)
def test_too_many_cells_are_refused(monkeypatch, read, text):
    monkeypatch.setattr(table_columns, "MAX_CELLS", 10)

    with pytest.raises(TooLargeError, match="more than 10 cells"):
        read(text, SOURCE)


def test_gaps_count_as_cells(monkeypatch):
    monkeypatch.setattr(table_columns, "MAX_CELLS", 10)

    assert len(read_csv("ms\n1" + "\n" * 9 + "1\n", SOURCE).places) == 10
    with pytest.raises(TooLargeError, match="more than 10 cells"):
        read_csv("ms\n1" + "\n" * 10 + "1\n", SOURCE)


def test_objects_with_a_field_each_have_too_many_cells(monkeypatch):
    monkeypatch.setattr(table_columns, "MAX_CELLS", 20)
    document = [{f"c{place}": 1.0} for place in range(6)]

    with pytest.raises(TooLargeError, match="more than 20 cells"):
        columns_of(document, SOURCE)


def test_too_many_columns_are_no_table_of_measurements():
    names = [f"c{place}" for place in range(MAX_COLUMNS + 1)]

    with pytest.raises(TooLargeError, match="more than 1000 columns"):
        read_csv(",".join(names) + "\n", SOURCE)
    with pytest.raises(TooLargeError, match="more than 1000 columns"):
        columns_of([dict.fromkeys(names, 1.0)], SOURCE)
    assert len(columns_of([dict.fromkeys(names[1:], 1.0)], SOURCE).columns) == MAX_COLUMNS


@pytest.mark.parametrize(
    ("count", "text"), [(0, "none"), (2, "'0', '1'"), (20, "'18', '19'"), (21, "'19', ...")]
)
def test_the_first_names_of_many_are_listed(count, text):
    assert quote_names(map(str, range(count))).endswith(text)


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("1970-01-02T00:00:00Z", 86400.0),
        (" 1970-01-02 01:00:00+01:00 ", 86400.0),
        ("1970-01-02", 86400.0),
        ("86400", 86400.0),
        (86400.0, 86400.0),
        ("", NAN),
        (None, NAN),
    ],
)
def test_a_time_is_iso_8601_or_seconds(cell, seconds):
    assert time_of(cell) == seconds


@pytest.mark.parametrize("cell", ["20260102", 20260102, " 19991231 "])
def test_a_day_without_separators_is_not_read_as_seconds_of_1970(cell):
    with pytest.raises(ValueError, match=r"may be a date or seconds .* or \d{8}\.0 for seconds"):
        time_of(cell)


@pytest.mark.parametrize("cell", ["20261302", "20260132", 20260102.0, "21010101"])
def test_other_numbers_of_eight_digits_are_seconds(cell):
    assert time_of(cell) == float(cell)


@pytest.mark.parametrize("cell", ["noon", "2026-13-01", "1700000000000", 1.7e12, "1e400"])
def test_what_is_no_time_is_an_error_that_says_what_to_write(cell):
    with pytest.raises(ValueError, match="seconds since 1970"):
        time_of(cell)
