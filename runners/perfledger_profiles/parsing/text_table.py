"""Reads tables: the cells of CSV with commas, semicolons or tabs.

The delimiter is the one of these that the first row has, outside quotes and not between two digits
("1,5" is a number with a decimal comma); the comma if it has none. If the first row has several, it
is the one that divides the next row alike. Empty rows are skipped: a spreadsheet writes them below
a table. A number with a decimal comma is never read as another number: `number_problem` says what
to write.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import StringIO
from itertools import chain, pairwise

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
# A number with a decimal comma, and perhaps its unit, that the comma between cells divided.
_DIVIDED_NUMBER = re.compile(r"\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?[^\d.:-]*")
# Excel writes this line to name the delimiter, and shows it nowhere.
_DELIMITER_LINE = re.compile(r'"?sep=([,;\t])"?[\r\n]*', re.IGNORECASE)
# No two neighbours match the same characters: a cell that fills its line takes linear time.
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)
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
    delimiter, rows = _divided_rows(text, name, error=error)
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
    shape = _TableShape(len(header), len(first), delimiter)
    return TextTable(header, _rows_of_shape(rows, shape, name, error))


def table_rows(
    text: str | Iterable[str],
    name: str,
    *,
    error: Callable[[str], Exception],
    delimiter: str | None = None,
) -> Iterator[NumberedCells]:
    """Return the rows of a text that are not empty, of any number of cells.

    A given delimiter splits every line, and quotes are ordinary characters, as Slurm writes it.
    Raises `error` with `name` and the line, at once or when the rows are read, for wrong quoting
    and rows that are too long; with `name` if two delimiters divide the first two rows alike.
    """
    _, rows = _divided_rows(text, name, error=error, delimiter=delimiter)
    return rows


def untitled_rows(
    text: str, name: str, *, error: Callable[[str], Exception]
) -> Iterator[NumberedCells]:
    """Yield the rows of a table whose columns have no names of one row.

    Raises `error` with `name` and the line for a row with further text than the first, and as
    `table_rows` does.
    """
    delimiter, rows = _divided_rows(text, name, error=error)
    shape = None
    for line, cells in rows:
        shape = shape or _TableShape(len(cells), len(cells), delimiter)
        problem = _problem_of_longer(cells, shape)
        if problem:
            raise error(_misshapen(cells, shape, f"{name}, line {line}", problem))
        yield line, cells


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


def is_number(cell: str) -> bool:
    """Return whether a cell is a finite decimal number, with or without an exponent.

    Python also takes 1_5, digits of other scripts and nan; tables do not mean numbers by them.
    """
    return _NUMBER.fullmatch(cell.strip()) is not None and math.isfinite(float(cell))


def number_problem(cell: str, *, otherwise: str = "is not a number") -> str:
    """Return what is wrong with a cell that is not a number, to follow it in an error."""
    if "," in cell and _NUMBER_WITH_COMMAS.fullmatch(cell[:MAX_SHOWN_CELL].strip()):
        return "has a comma: write decimals with a point and thousands without a separator"
    if _NUMBER.fullmatch(cell.strip()) and math.isinf(float(cell)):
        return "is too large"
    return otherwise


def lower_name(cell: str) -> str:
    """Return a column's name without spaces around it and in lower case."""
    return cell.strip().lower()


@dataclass(frozen=True, slots=True)
class _TableShape:
    width: int  # columns
    written: int  # cells of the first row, with those that have no name
    delimiter: str


def _divided_rows(
    text: str | Iterable[str],
    name: str,
    *,
    error: Callable[[str], Exception],
    delimiter: str | None = None,
) -> tuple[str, Iterator[NumberedCells]]:
    """Return the delimiter of a text, and its rows that are not empty."""
    lines = checked_lines(
        StringIO(text, newline="") if isinstance(text, str) else text, name, error=error
    )
    if delimiter is not None:
        return delimiter, _numbered_rows(lines, name, error, delimiter, has_quotes=False)
    beginning = _lines_of_row(lines)
    named = _DELIMITER_LINE.fullmatch(beginning[-1]) if beginning else None
    if named is not None:
        chosen_delimiter = str(named[1])
        beginning[-1] = "\n"
    else:
        candidates = _delimiters_in("".join(beginning))
        if len(candidates) > 1:
            second = _lines_of_row(lines)
            candidates = _that_fit("".join(beginning), "".join(second), candidates, name, error)
            beginning += second
        chosen_delimiter = candidates[0]
    return chosen_delimiter, _numbered_rows(chain(beginning, lines), name, error, chosen_delimiter)


def _numbered_rows(
    lines: Iterable[str],
    name: str,
    error: Callable[[str], Exception],
    delimiter: str,
    *,
    has_quotes: bool = True,
) -> Iterator[NumberedCells]:
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
        strict=True,
    )
    number = 1
    try:
        for cells in reader:
            if len(cells) > MAX_COLUMNS:
                msg = f"{name}, line {number}, has more than {MAX_COLUMNS:,} cells: split the table"
                raise error(msg)
            if any(map(str.strip, cells)):
                yield number, cells
            number = reader.line_num + 1
    except csv.Error as problem:
        msg = f"{name}, line {number}, is not CSV: {problem}. Correct the quoting."
        raise error(msg) from problem


def _lines_of_row(lines: Iterator[str]) -> list[str]:
    """Return the lines of the next row that is not empty, after those of empty rows."""
    all_lines: list[str] = []
    row_lines = quotes = 0
    for line in lines:
        all_lines.append(line)
        if row_lines or line.strip():
            row_lines += 1
            quotes += line.count('"')
            if quotes % 2 == 0 or row_lines == MAX_LINES_OF_FIRST_ROW:
                break
    return all_lines


def _delimiters_in(row: str) -> Sequence[str]:
    """Return the delimiters that a row has, the most common first; a comma if it has none."""
    unquoted = _DECIMAL_COMMA.sub("", _QUOTED.sub("", row))
    by_count = sorted(DELIMITERS, key=unquoted.count, reverse=True)
    return [delimiter for delimiter in by_count if delimiter in unquoted] or [","]


def _that_fit(
    first: str,
    second: str,
    candidates: Sequence[str],
    name: str,
    error: Callable[[str], Exception],
) -> Sequence[str]:
    """Return the candidates by which the second row has a cell for each column of the first.

    All, if none does or there is no second row. Two readings of the same rows are an error: one of
    them would be wrong.
    """
    if not second.strip():
        return candidates
    fitting = [each for each in candidates if _is_alike(first, second, each)]
    if len(fitting) > 1:
        signs = " and ".join(repr(each) for each in fitting[:2])
        msg = (
            f"{name}: {signs} divide the first two rows into equally many cells each: quote the "
            "cells that contain a delimiter"
        )
        raise error(msg)
    return fitting or candidates


def _is_alike(first: str, second: str, delimiter: str) -> bool:
    with suppress(csv.Error):
        header, cells = (
            next(filter(any, csv.reader(StringIO(row, newline=""), delimiter=delimiter)), [""])
            for row in (first, second)
        )
        while len(header) > 1 and not header[-1].strip():
            header.pop()
        return len(cells) >= len(header) > 1 and not any(map(str.strip, cells[len(header) :]))
    return False


def _rows_of_shape(
    rows: Iterable[NumberedCells],
    shape: _TableShape,
    name: str,
    error: Callable[[str], Exception],
) -> Iterator[NumberedCells]:
    """Yield rows with a cell for each column; further cells may be empty.

    A row that is longer than the first by empty cells may end in a delimiter of its own, or have a
    number with a decimal comma that the commas between cells divided: nobody can tell.
    """
    for line, cells in rows:
        is_short = len(cells) < shape.width
        problem = "complete or remove the row" if is_short else _problem_of_longer(cells, shape)
        if problem:
            raise error(_misshapen(cells, shape, f"{name}, line {line}", problem))
        yield line, cells[: shape.width]


def _problem_of_longer(cells: Sequence[str], shape: _TableShape) -> str:
    if any(map(str.strip, cells[shape.width :])):
        return "quote cells that contain the delimiter, and write decimals with a point"
    if len(cells) > shape.written and shape.delimiter == "," and _has_divided_number(cells):
        return "write decimals with a point, and end no row with a further comma"
    return ""


def _misshapen(cells: Sequence[str], shape: _TableShape, where: str, problem: str) -> str:
    return f"{where}: {len(cells)} cells for {shape.width} columns: {problem}"


def _has_divided_number(cells: Sequence[str]) -> bool:
    return any(_DIVIDED_NUMBER.fullmatch(",".join(pair)) for pair in pairwise(cells))
