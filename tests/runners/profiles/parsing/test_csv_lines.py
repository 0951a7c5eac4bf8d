from hypothesis import given, strategies as st

from perfledger_profiles.parsing import csv_lines, text_table
from perfledger_profiles.parsing.csv_lines import MAX_LINES_PER_ROW, rows_of


def test_quoted_cells_may_hold_commas_quotes_and_line_breaks():
    lines = ['a,"b, c"', '"say ""x""",2', '"two', 'lines",3']

    assert list(rows_of(lines)) == [["a", "b, c"], ['say "x"', "2"], ["two\nlines", "3"]]


def test_a_quote_that_is_never_closed_costs_its_own_line_only():
    lines = ['x,"open', *(f"a{n},b" for n in range(MAX_LINES_PER_ROW + 5))]

    rows = list(rows_of(lines))

    assert rows[0] is None
    assert rows[1:] == [[f"a{n}", "b"] for n in range(MAX_LINES_PER_ROW + 5)]


def test_a_quote_in_the_last_line_does_not_wait_for_more():
    assert list(rows_of(["a,b", 'c,"d'])) == [["a", "b"], None]


def test_a_line_that_is_too_long_or_too_wide_is_lost_alone(monkeypatch):
    monkeypatch.setattr(csv_lines, "MAX_LINE_CHARACTERS", 10)
    monkeypatch.setattr(text_table, "MAX_COLUMNS", 4)

    assert list(rows_of(["x" * 11, "a,b,c,d,e", "a,b"])) == [None, None, ["a", "b"]]
    assert list(rows_of(["x" * 10, "a,b,c,d"])) == [["x" * 10], ["a", "b", "c", "d"]]


def test_a_cell_beyond_the_parsers_limit_is_lost_alone():
    assert list(rows_of(['"' + "x" * 200_000 + '",1', "a,b"])) == [None, ["a", "b"]]


@given(st.lists(st.text(alphabet='a,"\n\r ;\x00', max_size=12), max_size=12))
def test_any_lines_become_rows_and_none_is_read_twice(lines):
    whole_texts = [line.replace("\n", " ") for line in lines]

    rows = list(rows_of(whole_texts))

    assert len(rows) <= len(whole_texts)
