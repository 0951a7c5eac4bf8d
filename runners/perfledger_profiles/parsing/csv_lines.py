"""Splits the lines of profilers' CSV, which may be torn or not CSV at all."""

from collections.abc import Iterator, Sequence

from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS
from perfledger_profiles.parsing.text_table import cells_of

# Quoted names and advice may contain line breaks, but an unclosed quote must not swallow the file.
MAX_LINES_PER_ROW = 20


def rows_of(lines: Sequence[str]) -> Iterator[list[str] | None]:
    """Yield the cells of each row, with None for a line that cannot be parsed.

    If a quote is not closed within a few lines, only the line that opens it is lost. The delimiter
    is the comma.
    """
    number = 0
    while number < len(lines):
        used = _lines_of_row(lines, number)
        if used == 0:
            yield None
        else:
            yield cells_of("\n".join(lines[number : number + used]))
        number += max(used, 1)


def _lines_of_row(lines: Sequence[str], first: int) -> int:
    """Return how many lines the row beginning here spans, 0 if it does not end in time."""
    quotes = 0
    for number in range(first, min(first + MAX_LINES_PER_ROW, len(lines))):
        if len(lines[number]) > MAX_LINE_CHARACTERS:
            return 0
        quotes += lines[number].count('"')
        if quotes % 2 == 0:
            return number - first + 1
    return 0
