"""What may differ between two Python sources that are the same code."""

import pytest

from perfledger_runners.checkouts.python_code import MAX_SOURCE_BYTES, is_same_code

SOURCE = b'def step(n=3):\n    """Add."""\n    return sum(range(n)) + 1\n'


@pytest.mark.parametrize(
    "head",
    [
        b"# a licence\n\n" + SOURCE,
        SOURCE.replace(b"\n    return", b"\n\n    # why\n    return"),
        SOURCE.replace(b" + 1", b" + (\n        1  # one\n    )"),
        SOURCE.replace(b"\n", b"\r\n"),
        b"# -*- coding: latin-1 -*-\n" + SOURCE,
    ],
)
def test_comments_blank_lines_and_layout_are_no_code(head):
    assert is_same_code(SOURCE, head)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"n=3", b"n=4"),
        (b"Add.", b"Add!"),  # a docstring can be read
        (b"+ 1", b"- 1"),
        (b"+ 1", b"+ 1.0"),
        (b"+ 1", b"+ True"),
        (b"def step", b"@cache\ndef step"),
        (b"def step", b"async def step"),
        (b"def step", b"from __future__ import annotations\ndef step"),
        (b"range(n)", b"range(n,)\n    pass"),
        (b"return sum", b"return max"),
    ],
)
def test_anything_else_is(before, after):
    assert before in SOURCE
    assert not is_same_code(SOURCE, SOURCE.replace(before, after))


def test_the_text_of_a_string_with_its_own_expression_is_code():
    assert not is_same_code(b"print(f'{1+1=}')", b"print(f'{1 + 1=}')")


def test_an_encoding_that_changes_a_string_changes_code():
    text = "name = 'é'\n".encode()

    assert not is_same_code(text, b"# -*- coding: latin-1 -*-\n" + text)


@pytest.mark.parametrize(
    "source",
    [
        b"def step(:\n",
        b"\0",
        b"\xff\xfe",
        b"# -*- coding: no-such-code -*-\n",
        b"x = " + b"(" * 50_000 + b")" * 50_000,
        b"x = " + b"-" * 200_000 + b"1",
        b"x = " + b"9" * 10_000,
        b"x = " + b"a.b" * 100_000,
        b"# a\n" * (MAX_SOURCE_BYTES // 4 + 1),
    ],
    ids=["syntax", "nul", "utf-16", "coding", "deep", "signs", "digits", "chain", "large"],
)
def test_a_source_that_cannot_be_parsed_is_the_same_as_none(source):
    assert not is_same_code(source, source)
