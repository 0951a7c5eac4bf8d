import pytest
from hypothesis import given, strategies as st

from perfledger_runners.safe_text import clean_text, last_line, tail_of_text


@given(st.text(st.characters()))
def test_cleaned_text_can_be_stored_and_shown_anywhere(text):
    cleaned = clean_text(text)

    cleaned.encode()
    assert "\x00" not in cleaned
    assert "\x1b" not in cleaned
    assert len(cleaned) == len(text)


def test_lines_and_tabs_stay():
    assert clean_text("a\n\tb\r") == "a\n\tb\ufffd"


def test_of_a_long_text_the_end_is_kept():
    assert tail_of_text("beginning and end", 3) == "end"


@pytest.mark.parametrize(
    ("text", "expected"), [("a\n  b  \n\n", "b"), ("", ""), ("\n \n", ""), ("only", "only")]
)
def test_the_last_line_is_the_last_that_says_something(text, expected):
    assert last_line(text) == expected
