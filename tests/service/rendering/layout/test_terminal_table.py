"""Tables in terminals of any width: whole, in columns, and without what a terminal obeys."""

import io

import pytest
from hypothesis import given, settings, strategies as st
from rich.cells import cell_len
from rich.console import Console

from perfledger_service.rendering.layout import document
from perfledger_service.rendering.layout.document import CellKind, TextStyle
from perfledger_service.rendering.layout.terminal_table import STYLES, TerminalTable
from perfledger_service.rendering.layout.writers import plain_lines
from tests.service.rendering.terminal_lines import lines_at

COLUMNS = (
    document.name("option", "option", lambda row: row[0]),
    document.figure("usd", "USD/h", lambda row: row[1], "{:,.2f}".format),
    document.words("note", "note", lambda row: row[2]),
)
ROWS = (("aws:p5", 1234.5, "on demand"), ("own", None, "over five years"))


def lines_of(table, width=80):
    return lines_at(TerminalTable(table), width=width).splitlines()


def test_columns_are_two_apart_and_figures_end_at_one_edge():
    assert lines_of(document.table(COLUMNS, ROWS)) == [
        "option     USD/h  note",
        "aws:p5  1,234.50  on demand",
        "own            -  over five years",
    ]


def test_columns_move_together_before_words_are_wrapped():
    assert lines_of(document.table(COLUMNS, ROWS), width=31) == [
        "option    USD/h note",
        "aws:p5 1,234.50 on demand",
        "own           - over five years",
    ]


def test_words_are_wrapped_and_figures_never():
    rows = (("aws", 1.0, "a sentence that needs some more than the rest of this line has"),)

    lines = lines_of(document.table(COLUMNS, rows), width=40)

    assert max(map(len, lines)) <= 40
    assert lines[1].split()[:2] == ["aws", "1.00"]
    assert " ".join(" ".join(lines[1:]).split()).endswith("more than the rest of this line has")


def test_a_name_that_its_column_would_break_has_a_line_to_itself():
    long_name = "aws:p5.48xlarge/savings_plan/3y_no_upfront"
    rows = ((long_name, 4.95, "on demand for a year"), ("own", 5.0, "-"))

    assert lines_of(document.table(COLUMNS, rows), width=50) == [
        "option                  USD/h note",
        long_name,
        "                         4.95 on demand for a year",
        "own                      5.00 -",
    ]


def test_a_name_that_does_not_fit_a_later_column_stands_below_its_row():
    columns = (COLUMNS[1], COLUMNS[0], COLUMNS[2])
    rows = (("an-operation-with-a-name-of-some-length", 4.95, "1 call, of compute"),)

    assert lines_of(document.table(columns, rows), width=50) == [
        "USD/h option                    note",
        " 4.95                           1 call, of compute",
        "  an-operation-with-a-name-of-some-length",
    ]


def test_a_column_keeps_its_longest_word_while_others_can_wrap():
    rows = (("benchmarks.gpt:train_step", 1.0, "a note of many short words that can wrap"),)

    lines = lines_of(document.table(COLUMNS, rows), width=50)

    assert lines[1].startswith("benchmarks.gpt:train_step  1.00 a note")
    assert len(lines) > 2


@given(
    st.lists(st.sampled_from(["p5", "aws:p5.48xlarge/on_demand@us-east-1", "H100 SXM spot"])),
    st.integers(min_value=40, max_value=100),
)
def test_no_name_is_broken_where_the_terminal_has_room_for_it(names, width):
    table = document.table(COLUMNS, [(name, 1.0, "a note of six short words") for name in names])

    words = " ".join(lines_of(table, width=width)).split()
    assert [word for name in names for word in name.split() if word not in words] == []


def test_what_cannot_be_a_grid_is_a_list_of_rows_with_their_headings():
    lines = lines_of(document.table(COLUMNS, ROWS), width=20)

    assert [line.split() for line in lines] == [
        ["option", "aws:p5"],
        ["USD/h", "1,234.50"],
        ["note", "on", "demand"],
        ["option", "own"],
        ["USD/h", "-"],
        ["note", "over", "five"],
        ["years"],
    ]


def test_remarks_and_pictures_stand_below_their_row():
    columns = (
        *COLUMNS[:2],
        document.words("why", "why", lambda row: row[2], kind=CellKind.REMARK),
        document.display("", lambda _: "a  b\n c", kind=CellKind.PICTURE),
    )

    lines = lines_of(document.table(columns, (ROWS[0], ("own", None, ""))))

    assert lines == [
        "option     USD/h",
        "aws:p5  1,234.50",
        "  on demand",
        "  a  b",
        "   c",
        "own            -",
        "  a  b",
        "   c",
    ]


def test_columns_without_a_heading_are_left_out():
    columns = (
        *COLUMNS[:1],
        document.fact("source", lambda _: "hidden"),
    )

    assert lines_of(document.table(columns, ROWS)) == ["option", "aws:p5", "own"]


def test_rows_of_a_group_stand_under_its_name_and_the_footer_last():
    table = document.table(
        COLUMNS[:2], ROWS, group=lambda row: f"team {row[0]}", footer=("together", "1,234.50")
    )

    assert lines_of(table) == [
        "team aws:p5",
        "option       USD/h",
        "aws:p5    1,234.50",
        "team own",
        "option       USD/h",
        "own              -",
        "together  1,234.50",
    ]


def test_a_footer_of_a_list_of_rows_is_one_line():
    table = document.table(COLUMNS, ROWS, footer=("together", "", "1"))

    assert lines_of(table, width=20)[-1] == "together 1"


@pytest.mark.parametrize(
    ("most", "more"), [(None, []), (2, []), (1, ["and 1 more; --format json has all"])]
)
def test_rows_that_are_not_shown_are_counted(most, more):
    lines = lines_of(document.table(COLUMNS, ROWS, most=most))

    assert [line for line in lines if line.startswith("and ")] == more
    assert len(lines) == 3


def test_an_empty_table_with_a_footer_has_its_footer():
    assert lines_of(document.table(COLUMNS[:2], (), footer=("together", "0"))) == [
        "together      0"
    ]


def test_every_style_has_its_look_and_colour_needs_a_terminal():
    table = document.table(COLUMNS[:1], ROWS, style=lambda _: TextStyle.WORSE)
    coloured = io.StringIO()
    Console(file=coloured, force_terminal=True, color_system="truecolor").print(
        TerminalTable(table)
    )

    assert set(STYLES) == set(TextStyle)
    assert "\x1b[1;31m" in coloured.getvalue()
    assert "\x1b" not in plain_lines(TerminalTable(table))


@pytest.mark.slow(ci_only=True)
@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.text(max_size=30),
            st.none() | st.floats(-1e9, 1e9),
            st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=60),
        ),
        max_size=4,
    ),
    st.integers(min_value=20, max_value=120),
)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_obeyed(rows, width):
    lines = lines_of(document.table(COLUMNS, rows), width=width)

    assert all(cell_len(line) <= width for line in lines)
    assert not {"\x1b", "\r", "\x07", "\u202e"} & set("".join(lines))
