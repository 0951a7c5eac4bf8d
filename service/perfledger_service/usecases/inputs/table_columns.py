"""Reads the columns of untrusted CSV and JSON files.

Files are size-limited before they are parsed; an unreadable cell is an error that names its line,
never a guess.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from perfledger.rounding import typed
from perfledger_profiles.benchmark_histories.json_object import MAX_TIME
from perfledger_profiles.parsing.text_table import is_number, number_problem, read_table
from perfledger_profiles.parsing.unique_keys import object_of_unique_keys
from perfledger_service.errors import TooLargeError, UsageError
from perfledger_service.rendering.layout.escape import clean

# Three times a million points of twenty characters.
MAX_BYTES = 64 * 2**20
MAX_POINTS = 1_000_000  # of a series
# Every parsed cell takes some 100 bytes of memory.
MAX_CELLS = 4_000_000
# A table of measurements has tens of columns; a file with more is something else.
MAX_COLUMNS = 1000

# What spreadsheets and data frames write where nothing was measured.
GAPS = frozenset({"", "nan", "na", "n/a", "null", "none"})

# A day of 1990 to 2100 without separators, or seconds of 1970.
_DATE_OR_SECONDS = re.compile(r"(?:199\d|20\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", re.ASCII)
MAX_SHOWN_NAMES = 20  # names listed in an error
MAX_SHOWN_CHARACTERS = 40  # characters of an untrusted cell that an error quotes

Cell = str | float | None


@dataclass(frozen=True, slots=True)
class TableColumn:
    """One named column."""

    name: str
    cells: tuple[Cell, ...]

    def is_numeric(self) -> bool:
        """Return whether every cell is a number or a gap, and at least one a number."""
        return all(map(_is_readable, self.cells)) and any(map(_has_number, self.cells))

    def is_mostly_numeric(self) -> bool:
        """Return whether more than half of the cells are numbers: the others are then mistakes."""
        return 2 * sum(map(_has_number, self.cells)) > len(self.cells)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTable:
    """A file's columns, all of one length; `places` are the rows' line or item numbers."""

    source: str
    row_word: str  # "line" or "item"
    places: Sequence[int]
    columns: tuple[TableColumn, ...]

    def numbers(self, column: TableColumn) -> tuple[float, ...]:
        """Return a column as numbers, NaN for gaps; raises UsageError naming the line."""
        return self._read(number_or_nan, column)

    def times(self, column: TableColumn) -> tuple[float, ...]:
        """Return a column as seconds since 1970, NaN for gaps; raises UsageError naming the line.

        A time without a zone counts as UTC.
        """
        return self._read(time_of, column)

    def names(self) -> str:
        """Return the columns' names for an error."""
        return quote_names(column.name for column in self.columns)

    def _read(self, read: Callable[[Cell], float], column: TableColumn) -> tuple[float, ...]:
        numbers: list[float] = []
        for place, cell in zip(self.places, column.cells, strict=True):
            try:
                numbers.append(read(cell))
            except ValueError as error:
                where = f"{self.source}, column {quote_text(column.name)}, {self.row_word} {place}"
                msg = f"{where}: {error}"
                raise UsageError(msg) from error
        return tuple(numbers)


def number_or_nan(cell: Cell) -> float:
    """Return the number in a cell, NaN for a gap; raises ValueError saying what is wrong."""
    if cell is None:
        return math.nan
    if isinstance(cell, str):
        text = cell.strip()
        if text.lower() in GAPS:
            return math.nan
        if not is_number(text):
            msg = f"{quote_text(text)} {number_problem(text)}"
            raise ValueError(msg)
        return float(text)
    if math.isinf(cell):
        msg = "a number that is infinite or too large to be one"
        raise ValueError(msg)
    return cell


def time_of(cell: Cell) -> float:
    """Return the time in a cell in seconds since 1970, NaN for a gap; raises ValueError."""
    text = str(cell).strip()
    if _DATE_OR_SECONDS.fullmatch(text):
        msg = (
            f"{text} may be a date or seconds since 1970: write "
            f"{text[:4]}-{text[4:6]}-{text[6:]}, or {text}.0 for seconds"
        )
        raise ValueError(msg)
    try:
        seconds = number_or_nan(cell)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            msg = (
                f"{quote_text(text)} is not a time: write 2026-11-23T17:30:00Z or seconds since "
                "1970"
            )
            raise ValueError(msg) from None
        zone = moment.tzinfo or UTC
        return moment.replace(tzinfo=zone).timestamp()
    if abs(seconds) > MAX_TIME:
        msg = f"{typed(seconds)} is not a time in seconds since 1970: divide milliseconds by 1000"
        raise ValueError(msg)
    return seconds


def quote_text(text: str) -> str:
    """Return untrusted text for an error: short, quoted, without control characters."""
    return f"'{clean(text, limit=MAX_SHOWN_CHARACTERS)}'"


def quote_names(names: Iterable[str]) -> str:
    """Return untrusted names for an error, the first of many; "none" without any."""
    quoted_names = [quote_text(name) for name in names]
    if len(quoted_names) > MAX_SHOWN_NAMES:
        quoted_names[MAX_SHOWN_NAMES:] = ["..."]
    return ", ".join(quoted_names) or "none"


def read_csv(text: str, source: str) -> ColumnTable:
    """Return a CSV's columns; the first row is the header, unless it consists of numbers.

    In a single column an empty line between two values is a gap. Raises UsageError and
    TooLargeError.
    """
    table = read_table(text, source, error=UsageError, names_without_header=_numbered_columns)
    _check_names(table.header, source)
    rows: list[list[str]] = []
    places: list[int] = []
    for line, cells in table.rows:
        is_single = len(table.header) == 1 and bool(rows)
        gaps = range(places[-1] + rows[-1][0].count("\n") + 1 if is_single else line, line)
        _check_cells((len(rows) + len(gaps) + 1) * len(table.header), source)
        rows += [*([""] for _ in gaps), cells]
        places += [*gaps, line]
    columns = zip(*rows, strict=True) if rows else [() for _ in table.header]
    return ColumnTable(
        source=source,
        row_word="line",
        places=places,
        columns=tuple(
            TableColumn(name, tuple(cells))
            for name, cells in zip(table.header, columns, strict=True)
        ),
    )


def parse_json(text: str, source: str) -> object:
    """Return the content of a JSON text, numbers as floats; raises UsageError and TooLargeError."""
    if not text.strip():
        msg = f"{source} is empty: a list of values is needed"
        raise UsageError(msg)
    _check_cells(sum(text.count(mark) for mark in ",[{"), source)
    try:
        return json.loads(
            text, object_pairs_hook=object_of_unique_keys, parse_int=float, parse_constant=_constant
        )
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        msg = f"{source} is not JSON as it is read here: {reason}"
        raise UsageError(msg) from error


def columns_of(document: object, source: str) -> ColumnTable:
    """Return the columns of a JSON document; raises UsageError and TooLargeError.

    The document is a list of numbers, a list of objects with a numeric field, or an object with
    `values` and, if the points have names, `labels`.
    """
    items = document
    columns: list[TableColumn] = []
    if isinstance(document, dict):
        fields = cast("Mapping[str, object]", document)
        items, labels = fields.get("values"), fields.get("labels")
        if isinstance(labels, list):
            columns = [TableColumn("labels", tuple(map(_cell, cast("list[object]", labels))))]
    if not isinstance(items, list):
        msg = (
            f"{source} is JSON of an unknown form: give a list of numbers, a list of objects "
            'with a field of numbers, or {"values": [...], "labels": [...]}'
        )
        raise UsageError(msg)
    rows = cast("list[object]", items)
    objects = [cast("Mapping[str, object]", row) for row in rows if isinstance(row, dict)]
    if objects and len(objects) == len(rows):
        columns += _fields(objects, source)
    else:
        columns.append(TableColumn("values", tuple(map(_cell, rows))))
    lengths = {len(column.cells) for column in columns}
    if len(lengths) > 1:
        msg = (
            f"{source} has {len(columns[0].cells)} labels for {len(rows)} values: give one for each"
        )
        raise UsageError(msg)
    return ColumnTable(
        source=source, row_word="item", places=range(1, len(rows) + 1), columns=tuple(columns)
    )


def _numbered_columns(first: Sequence[str]) -> Sequence[str]:
    """Return names for the columns of a table whose first row has only numbers, else ()."""
    if not all(_has_number(cell) for cell in first if cell.strip()):
        return ()
    width = max(number for number, cell in enumerate(first, start=1) if cell.strip())
    return [f"column {index}" for index in range(1, width + 1)]


def _fields(objects: Sequence[Mapping[str, object]], source: str) -> list[TableColumn]:
    names: dict[str, None] = {}
    for row in objects:
        names.update(dict.fromkeys(row))
        _check_names(names, source)
    _check_cells(len(names) * len(objects), source)
    return [TableColumn(name, tuple(_cell(row.get(name)) for row in objects)) for name in names]


def _cell(value: object) -> Cell:
    match value:
        case None | float() | str():
            return value
        case bool():
            return "true" if value else "false"
        case list():
            return "[...]"
        case _:
            return "{...}"


def _check_names(names: Iterable[str], source: str) -> None:
    all_names = tuple(names)
    if len(all_names) > MAX_COLUMNS:
        msg = f"{source} has more than {MAX_COLUMNS} columns: it is not a table of measurements"
        raise TooLargeError(msg)
    if len(set(all_names)) < len(all_names):
        twice = next(name for name, count in Counter(all_names).items() if count > 1)
        msg = f"{source} has the column {quote_text(twice)} twice: rename one"
        raise UsageError(msg)


def _check_cells(cells: int, source: str) -> None:
    if cells > MAX_CELLS:
        msg = f"{source} has more than {MAX_CELLS:,} cells: keep the columns that matter"
        raise TooLargeError(msg)


def _constant(constant: str) -> float:
    if constant == "NaN":  # Python's notation for a gap
        return math.nan
    msg = f"{constant} is not a number"
    raise ValueError(msg)


def _is_readable(cell: Cell) -> bool:
    try:
        number_or_nan(cell)
    except ValueError:
        return False
    return True


def _has_number(cell: Cell) -> bool:
    return _is_readable(cell) and not math.isnan(number_or_nan(cell))
