"""Tables as tools and spreadsheets write them, and text that is no table."""

import csv
from io import StringIO

import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.parsing import text_table
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS, decoded_text
from perfledger_profiles.parsing.text_table import (
    DELIMITERS,
    cells_of,
    checked_lines,
    first_row,
    is_number,
    lower_name,
    number_problem,
    read_table,
    table_rows,
    untitled_rows,
)
from tests.product.modules import MODULES

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")
# A mark of the byte order at the beginning is not part of the text, and a NUL is refused.
WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=9)
NAMES = st.lists(WORDS.map(str.strip).filter(bool), min_size=2, max_size=5, unique=True)


class NoTableError(ValueError):
    """The error that a caller gives."""


def read(text, **options):
    table = read_table(text, "x.csv", error=NoTableError, **options)
    return table.header, list(table.rows)


def written(rows, **form):
    text = StringIO(newline="")
    csv.writer(text, **form).writerows(rows)
    return text.getvalue()


@given(st.data())
def test_a_table_is_the_same_with_every_delimiter_and_in_every_encoding(data):
    header = data.draw(NAMES)
    width = len(header)
    rows = data.draw(st.lists(st.lists(WORDS, min_size=width, max_size=width), max_size=5))
    text = written(
        [header, *rows],
        delimiter=data.draw(st.sampled_from(DELIMITERS)),
        quoting=csv.QUOTE_ALL,
    )
    encoded = text.encode(data.draw(st.sampled_from(ENCODINGS)))

    names, result = read(decoded_text(encoded, "x.csv", error=NoTableError))

    assert names == tuple(header)
    assert [cells for _, cells in result] == [row for row in rows if any(map(str.strip, row))]


@pytest.mark.parametrize("delimiter", DELIMITERS)
@given(st.data())
def test_plain_names_need_no_quotes(delimiter, data):
    plain_text = st.text("abXY019_.%()", min_size=1, max_size=9)
    header = data.draw(st.lists(plain_text, min_size=2, max_size=5, unique=True))
    cells = st.lists(WORDS, min_size=len(header), max_size=len(header))
    row = data.draw(cells.filter(lambda row: any(map(str.strip, row))))
    text = written([header], delimiter=delimiter)
    text += written([row], delimiter=delimiter, quoting=csv.QUOTE_ALL)

    assert read(text) == (tuple(header), [(2, row)])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_have_the_number_of_the_line_where_they_begin(end):
    text = end.join(["", "a,b", "", '"1,', '2",3', " , ", "4,5"])

    assert read(text) == (("a", "b"), [(4, [f"1,{end}2", "3"]), (7, ["4", "5"])])


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a;b,c;d\n", ["a", "b,c", "d"]),
        ("a\tb;c\td", ["a", "b;c", "d"]),
        ("a,b;c\n", ["a", "b;c"]),  # as many of each
        ('"a;b;c",d\n', ["a;b;c", "d"]),
        ('time,up{x="a;b;c"}\n', ["time", 'up{x="a;b;c"}']),
        ('"a\n;;b";c,d;e\n', ["a\n;;b", "c,d", "e"]),
        ("1,5;2,5;3,5\n", ["1,5", "2,5", "3,5"]),
        ("1,5\t2,5\n", ["1,5", "2,5"]),
        ("1,5,2\n", ["1", "5", "2"]),
        ("\n \n;a\n", ["", "a"]),
        ("a b\n", ["a b"]),
        ("Power, W;Time, s\n1.5;2.5\n", ["Power, W", "Time, s"]),
        ("Power, W;Time, s\n1,5;2;\n", ["Power, W", "Time, s"]),  # two cells by commas
        ("Power, W\tTime, s\n\n1.5\t2.5\n", ["Power, W", "Time, s"]),
        ("tags (a;b);x,time\na;b,1.5\n", ["tags (a;b);x", "time"]),
        ('"W, h";J, s;K, s\n1;"2;\n3";4', ["W, h", "J, s", "K, s"]),
        ("a,b;c\n1\n", ["a", "b;c"]),  # by none
        ("sep=;\na;b,c,d\n", ["a", "b,c,d"]),
        ('"SEP=\t"\r\na,b\tc\r\n', ["a,b", "c"]),
        ("sep=|\na|b\n", ["sep=|"]),
        ("", ()),
        (" \n", ()),
        ('"a\n', ()),
        ("x" * 200_000, ()),
    ],
)
def test_the_delimiter_is_that_of_the_first_row_outside_quotes_and_numbers(text, first):
    assert first_row(text) == first


@given(st.data())
def test_a_decimal_comma_never_makes_another_number(data):
    """Rows of a spreadsheet with decimal commas, under names with commas, quoted where needed."""
    delimiter = data.draw(st.sampled_from(DELIMITERS))
    width = data.draw(st.integers(2, 4))
    names = data.draw(
        st.lists(
            st.sampled_from(["W", "J, s", "x", "h, y, z", "a, b"]), min_size=width, max_size=width
        )
    )
    header = [f"{name} {place}" for place, name in enumerate(names)]
    number = st.tuples(st.integers(0, 99), st.integers(0, 99))
    rows = data.draw(
        st.lists(st.lists(number, min_size=width, max_size=width), min_size=1, max_size=3)
    )
    cells = [[f"{whole_part},{decimals}" for whole_part, decimals in row] for row in rows]
    text = written([header, *cells], delimiter=delimiter)
    if data.draw(st.booleans()):
        text = f"sep={delimiter}\n{text}"

    try:
        names_read, rows_read = read(text)
    except NoTableError:
        return

    assert list(names_read) == header
    assert [row for _, row in rows_read] == cells


def test_a_first_line_that_names_the_delimiter_is_a_line():
    assert read("\ufeffsep=;\r\n\r\na;b\r\n1;2\r\n") == (("a", "b"), [(4, ["1", "2"])])


@pytest.mark.parametrize("row", ["x,1,5", "x,1,5,", "x,-1,50 MiB,", "x,1,5e3,,", " 1,5 ,x,"])
def test_a_number_that_commas_divided_shifts_no_column(row):
    with pytest.raises(
        NoTableError, match=r"line 2: \d cells for 2 columns: .*decimals with a poi"
    ):
        read(f"team,hours\n{row}\n")


@pytest.mark.parametrize("row", ["x,1,,", "1.5,2,", "2026-01-01,5,", "x;1;"])
def test_a_row_may_end_in_delimiters_of_its_own(row):
    delimiter = ";" if ";" in row else ","
    cells = row.split(delimiter)

    assert read(f"team{delimiter}hours\n{row}\n")[1] == [(2, cells[:2])]


def test_the_first_row_of_a_long_text_is_read_without_the_rest():
    assert first_row("a,b\n" + "x" * (2 * MAX_LINE_CHARACTERS)) == ["a", "b"]


def test_names_are_stripped_or_as_the_caller_wants_them():
    assert read(" A , b\n")[0] == ("A", "b")
    assert read(" A , b\n", name_of=lower_name)[0] == ("a", "b")


def test_columns_without_a_name_are_left_out_at_the_end_only():
    assert read(",a,,\n1,2,,\n3,4,, \n") == (("", "a"), [(2, ["1", "2"]), (3, ["3", "4"])])


def test_a_first_row_of_cells_is_a_row_under_the_callers_names():
    def names(first):
        return ("n", "m") if first[0].isdecimal() else ()

    assert read("1,2\n3,4\n", names_without_header=names) == (
        ("n", "m"),
        [(1, ["1", "2"]), (2, ["3", "4"])],
    )
    assert read("a,b\n3,4\n", names_without_header=names) == (("a", "b"), [(2, ["3", "4"])])


def test_a_header_alone_is_a_table_without_rows():
    assert read("a,b") == (("a", "b"), [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.csv is empty: a row with the names of the columns is needed"),
        ("\n;;\n", "x.csv is empty"),
        ("a,b,a\n", "x.csv has the column 'a' twice, and only one would count: remove one"),
        (f"{'a' * 41},{'a' * 41}\n", f"x.csv has the column '{'a' * 40}' twice"),
        ("a,b\n1\n", "x.csv, line 2: 1 cells for 2 columns: complete or remove the row"),
        ("a,b\n1,2\n1,2,3\n", "x.csv, line 3: 3 cells for 2 columns: quote cells that contain"),
        ("a\n1,5\n", "x.csv, line 2: 2 cells for 1 columns: .* write decimals with a point"),
        ('a,b\n1,"2\n3,4\n', "x.csv, line 2, is not CSV: unexpected end of data. Correct the quo"),
        ('a,b\n\n"1"2,3\n', "x.csv, line 3, is not CSV: ',' expected after '\"'"),
        ("Power, W;Time, s\n1,5;2,5\n", "x.csv: ',' and ';' divide the first two rows into equ"),
        ("a,b;c\n1,2;3\n", "x.csv: ',' and ';' divide the first two rows into equally many cells"),
        ('"' + "\n" * 100_000, "x.csv, line 1, is not CSV: unexpected end of data"),
        ("a,b\n" + "x" * 140_000, "x.csv, line 2, is not CSV: field larger than field limit"),
        ("a\n" + "x" * (MAX_LINE_CHARACTERS + 1), "x.csv, line 2, has more than 1,048,576 char"),
        ("a\n" + "," * 20_000, "x.csv, line 2, has more than 20,000 cells: split the table"),
    ],
)
def test_what_is_no_table_is_refused_with_file_and_line(text, message):
    with pytest.raises(NoTableError, match=f"^{message}"):
        read(text)


def test_limits_are_the_most_that_is_read(monkeypatch):
    monkeypatch.setattr(text_table, "MAX_COLUMNS", 2)
    monkeypatch.setattr(text_table, "MAX_LINE_CHARACTERS", 4)

    assert read("a,b\n")[0] == ("a", "b")
    for text in ("a,,\n", "aa,b\n"):
        with pytest.raises(NoTableError, match="line 1, has more than"):
            read(text)


def test_lines_of_a_file_are_read_one_by_one():
    lines = iter(["\ufeffa;b\r\n", "1;2\r\n", '"1"2\n'])

    table = read_table(lines, "x.csv", error=NoTableError)

    assert table.header == ("a", "b")
    assert next(table.rows) == (2, ["1", "2"])
    with pytest.raises(NoTableError, match="line 3"):
        next(table.rows)


def test_checked_lines_are_the_lines_without_a_mark():
    lines = ["\ufeffa\n", "\ufeffb"]

    assert list(checked_lines(lines, "x", error=NoTableError)) == ["a\n", "\ufeffb"]


def test_untitled_rows_may_be_shorter_than_the_first_and_no_longer():
    def read_rows(text):
        return list(untitled_rows(text, "x.csv", error=NoTableError))

    assert read_rows("a;b;\n1;2,5;;\n\n3\n") == [
        (1, ["a", "b", ""]),
        (2, ["1", "2,5", "", ""]),
        (4, ["3"]),
    ]
    for row in ("1,2,5", "1,5,"):
        with pytest.raises(NoTableError, match=r"x.csv, line 2: 3 cells for 2 columns: .*a point"):
            read_rows(f"a,b\n{row}\n")


def test_a_given_delimiter_has_no_quotes():
    rows = table_rows('a|"b\n1|2|3\n', "x", error=NoTableError, delimiter="|")

    assert list(rows) == [(1, ["a", '"b']), (2, ["1", "2", "3"])]


@given(st.text())
def test_any_text_is_read_or_refused_with_the_callers_error(text):
    try:
        header, rows = read(text)
    except NoTableError:
        return

    assert all(len(cells) == len(header) for _, cells in rows)


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("a,b", ["a", "b"]),
        ('"a,b",c', ["a,b", "c"]),
        ("", [""]),
        ("," * 20_000, None),
        ('"' + "x" * 140_000 + '"', None),
    ],
)
def test_a_line_alone_is_split_at_commas(line, cells):
    assert cells_of(line) == cells


@pytest.mark.parametrize("cell", ["1,5", " -1,5 ", "1.234,56", "1,234.56", "+1,5e-3", ",5", "1,"])
def test_a_number_with_a_comma_is_called_one(cell):
    assert number_problem(cell) == (
        "has a comma: write decimals with a point and thousands without a separator"
    )


@pytest.mark.parametrize("cell", ["1", " -1.5 ", "+.5", "1.", "2e3", "1E-400", "007"])
def test_a_decimal_number_is_one(cell):
    assert is_number(cell)


@pytest.mark.parametrize(
    "cell", ["", "1_5", "\u0661", "nan", "-Infinity", "0x1", ".", "1e400", "1e-9999999"]
)
def test_what_no_table_means_by_a_number_is_not_one(cell):
    assert not is_number(cell)


def test_a_cell_of_very_many_digits_is_examined_once():
    """A pattern that tries every division of the digits would not end."""
    cell = f"{'1' * 1_000_000}x"

    assert not is_number(cell)
    assert number_problem(cell) == "is not a number"


def test_a_number_beyond_all_others_is_called_too_large():
    assert number_problem("1e400") == "is too large"


@pytest.mark.parametrize("cell", ["", "x", "a,b", "1.5.2", "1;5", "," + "x" * 100])
def test_other_cells_are_no_numbers(cell):
    assert number_problem(cell) == "is not a number"
    assert number_problem(cell, otherwise="is no price") == "is no price"


@pytest.mark.slow
def test_no_other_module_reads_csv_or_knows_an_encoding():
    texts = [(path.name, path.read_text(encoding="utf-8")) for path in MODULES]
    csv_words = ("csv.reader", "csv.DictReader", "csv.Sniffer", "from csv import")
    encoding_words = ('"utf-16', '"utf_16', "utf-8-sig", "utf_8_sig", "BOM_UTF")

    assert [name for name, text in texts if any(word in text for word in csv_words)] == [
        "text_table.py"
    ]
    assert [name for name, text in texts if any(word in text for word in encoding_words)] == [
        "text_file.py"
    ]
