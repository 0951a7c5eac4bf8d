"""Reads tables: the cells of CSV with commas, semicolons or tabs.

The delimiter is the one of these that the first row has most of, outside quotes and not between two
digits ("1,5" is a number with a decimal comma); the comma if it has none. Empty rows are skipped: a
spreadsheet writes them below a table. A number with a decimal comma is never read as another
number: `number_problem` says what to write.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import chain

from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS

DELIMITERS = (",", ";", "\t")
# The widest page seen so far, `ncu --page raw` with all metrics, has four thousand columns.
MAX_COLUMNS = 20_000
# The names of the columns may contain line breaks, but an unclosed quote must end somewhere.
MAX_LINES_OF_FIRST_ROW = 20
MAX_SHOWN_CELL = 40  # characters of a cell in an error

_BYTE_ORDER_MARK = "\ufeff"
_QUOTED = re.compile(r'"[^"]*"')
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")
_NUMBER_WITH_COMMAS = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?", re.ASCII)

NumberedCells = tuple[int, list[str]]  # the line where a row begins, from 1, and its cells


@dataclass(frozen=True, slots=True)
class TextTable:
    """The names of a table's columns, and its rows, which are read on demand.

    Each row has a cell for each column.
    """

    header: tuple[str, ...]
    rows: Iterator[NumberedCells]


def read_table(
    text: str | Iterable[str],
    name: str,
    *,
    error: Callable[[str], Exception],
    name_of: Callable[[str], str] = str.strip,
    names_without_header: Callable[[Sequence[str]], Sequence[str]] = lambda _: (),
) -> TextTable:
    """Return the table in a text, or in the lines of one with their ends.

    `name_of` makes a column's name of its cell. `names_without_header` returns the names of the
    columns if the first row is not a header, else nothing. Columns without a name after the last
    named one are left out if they are empty. Raises `error`, at once or when the rows are read,
    with `name` and the line: for a table without a row, a column that appears twice, a row with
    fewer or more cells than columns, and as `table_rows` does.
    """
    rows = table_rows(text, name, error=error)
    line, first = next(rows, (0, list[str]()))
    if not first:
        msg = f"{name} is empty: a row with the names of the columns is needed"
        raise error(msg)
    implied = names_without_header(first)
    header = tuple(map(name_of, implied or first))
    while header and not header[-1]:
        header = header[:-1]
    twice = next((column for column, n in Counter(header).items() if column and n > 1), None)
    if twice is not None:
        msg = (
            f"{name} has the column {twice[:MAX_SHOWN_CELL]!r} twice, and only one would count: "
            "remove one"
        )
        raise error(msg)
    if implied:
        rows = chain([(line, first)], rows)
    return TextTable(header, _rows_of_width(rows, len(header), name, error))


def table_rows(
    text: str | Iterable[str],
    name: str,
    *,
    error: Callable[[str], Exception],
    delimiter: str | None = None,
) -> Iterator[NumberedCells]:
    """Yield the rows of a text that are not empty, of any number of cells.

    A given delimiter splits every line, and quotes are ordinary characters, as Slurm writes it.
    Raises `error` with `name` and the line for wrong quoting, and for rows that are too long.
    """
    lines = checked_lines(
        StringIO(text, newline="") if isinstance(text, str) else text, name, error=error
    )
    empty = quotes = 0
    beginning: list[str] = []
    for line in lines:
        if not beginning and not line.strip():
            empty += 1
            continue
        beginning.append(line)
        quotes += line.count('"')
        if quotes % 2 == 0 or len(beginning) == MAX_LINES_OF_FIRST_ROW:
            break
    reader = csv.reader(
        chain(beginning, lines),
        delimiter=delimiter or _delimiter_of("".join(beginning)),
        quoting=csv.QUOTE_MINIMAL if delimiter is None else csv.QUOTE_NONE,
        strict=True,
    )
    number = empty + 1
    try:
        for cells in reader:
            if len(cells) > MAX_COLUMNS:
                msg = f"{name}, line {number}, has more than {MAX_COLUMNS:,} cells: split the table"
                raise error(msg)
            if any(map(str.strip, cells)):
                yield number, cells
            number = empty + reader.line_num + 1
    except csv.Error as problem:
        msg = f"{name}, line {number}, is not CSV: {problem}. Correct the quoting."
        raise error(msg) from problem


def first_row(text: str) -> Sequence[str]:
    """Return the cells of the first row that is not empty; none if there is no such row."""
    with suppress(ValueError):
        return next(table_rows(text[:MAX_LINE_CHARACTERS], "", error=ValueError), (0, ()))[1]
    return ()


def checked_lines(
    lines: Iterable[str], name: str, *, error: Callable[[str], Exception]
) -> Iterator[str]:
    """Yield lines without a byte order mark; raise `error` for one that is too long."""
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE_CHARACTERS:
            msg = f"{name}, line {number}, has more than {MAX_LINE_CHARACTERS:,} characters"
            raise error(msg)
        yield line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line


def cells_of(line: str) -> list[str] | None:
    """Return the cells of one complete row with commas; None if they cannot be split."""
    with suppress(csv.Error):
        cells = next(csv.reader([line]), [""]) if '"' in line else line.split(",")
        return cells if len(cells) <= MAX_COLUMNS else None
    return None


def number_problem(cell: str, *, otherwise: str = "is not a number") -> str:
    """Return what is wrong with a cell that is not a number, to follow it in an error."""
    if "," in cell and _NUMBER_WITH_COMMAS.fullmatch(cell[:MAX_SHOWN_CELL].strip()):
        return "has a comma: write decimals with a point and thousands without a separator"
    return otherwise


def lower_name(cell: str) -> str:
    """Return a column's name without spaces around it and in lower case."""
    return cell.strip().lower()


def _delimiter_of(row: str) -> str:
    unquoted = _DECIMAL_COMMA.sub("", _QUOTED.sub("", row))
    return max(DELIMITERS, key=unquoted.count)


def _rows_of_width(
    rows: Iterable[NumberedCells], width: int, name: str, error: Callable[[str], Exception]
) -> Iterator[NumberedCells]:
    """Yield rows of this number of cells; further cells may be empty."""
    for line, cells in rows:
        problem = ""
        if len(cells) < width:
            problem = "complete or remove the row"
        elif any(map(str.strip, cells[width:])):
            problem = "quote cells that contain the delimiter, and write decimals with a point"
        if problem:
            msg = f"{name}, line {line}: {len(cells)} cells for {width} columns: {problem}"
            raise error(msg)
        yield line, cells[:width]
