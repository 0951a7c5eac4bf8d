"""Splits nsys's output into cells: CSV, and the tables that `nsys stats` prints by default."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from perfledger_profiles.parsing.csv_lines import rows_of
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS

# The line below a table's titles, also inside a comment in source code or a quotation in a mail:
# " --------  ---------------" or "+----------+-----------------+".
_RULE = re.compile(r"[\s/#*>]*(\+?)-{3,}(?:[ +]+-{3,})+\+?\s*")
_DASHES = re.compile(r"-{3,}")
_GAP = frozenset(" |")


def cells_of(lines: Sequence[str]) -> Iterator[list[str] | None]:
    """Yield the cells of each row, with None for a line that cannot be split.

    The dashes of a printed table show where its columns are; a blank line ends the table.
    """
    begin = number = 0
    while number < len(lines):
        rule = _rule(lines[number])
        if rule is None:
            number += 1
            continue
        is_open = not rule[1]  # no frame: a frame's first rule is above the titles
        before = number - is_open if number > begin else number
        yield from rows_of(lines[begin:before])
        columns = [slice(*dashes.span()) for dashes in _DASHES.finditer(rule[0])]
        begin = before if is_open else number + 1
        while begin < len(lines) and len(lines[begin].rstrip()) > columns[-1].start:
            if _rule(lines[begin]) is None:
                yield _cut(lines[begin], columns)
            begin += 1
        number = begin = max(begin, number + 1)
    yield from rows_of(lines[begin:])


def _rule(line: str) -> re.Match[str] | None:
    is_possible = "---" in line and len(line) <= MAX_LINE_CHARACTERS
    return _RULE.fullmatch(line) if is_possible else None


def _cut(line: str, columns: Sequence[slice]) -> list[str] | None:
    """Return the cells below the dashes, or None if there is text between them."""
    gaps = (line[left.stop : right.start] for left, right in pairwise(columns))
    if not all(map(_GAP.issuperset, gaps)):
        return None
    return [line[column].strip() for column in columns]
