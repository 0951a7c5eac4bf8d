"""The text of a CSV table into rows of checked cells, or an error that says where it is wrong."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from io import StringIO
from typing import NoReturn

# About thirty thousand rows: all that the providers list of accelerators has some thousand, the
# packaged price sheet 151.
MAX_SHEET_CHARS = 8_000_000
MAX_CELL_CHARS = 500

# Plain ASCII decimals only: no exponent, no infinity, no digits of other scripts.
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class PriceSheetError(ValueError):
    """A table of prices or hardware inputs cannot be trusted as it is written."""


class Confidence(StrEnum):
    """How far a figure's source can be trusted; what deserves less than LOW is on no sheet."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table; reading a cell checks it and raises PriceSheetError."""

    sheet: str
    number: int  # as a spreadsheet counts: the header is row 1
    cells: Mapping[str, str]

    def reject(self, column: str, problem: str) -> NoReturn:
        """Raise the error that points at one cell."""
        where = f"sheet {self.sheet!r}, row {self.number}, column {column!r}"
        msg = f"{where}: {self.cells[column]!r} {problem}: correct it there"
        raise PriceSheetError(msg)

    def text(self, column: str, *, is_optional: bool = False) -> str:
        """Return a cell's text, without control characters."""
        text = self.cells[column].strip()
        if not text and not is_optional:
            self.reject(column, "is empty")
        if not text.isprintable():
            self.reject(column, "has control characters")
        return text

    def decimal(self, column: str) -> Decimal:
        """Return a cell's number, exactly as it is written: finite and not negative."""
        text = self.text(column)
        if not _DECIMAL.fullmatch(text):
            self.reject(column, "is not a plain decimal number such as 55.04")
        return Decimal(text)

    def day(self, column: str) -> date:
        """Return a cell's day, written as 2026-11-20."""
        day = iso_date(self.text(column))
        if day is None:
            self.reject(column, "is not a day such as 2026-11-20")
        return day

    def one_of(self, column: str, choices: Sequence[str]) -> str:
        """Return a cell's text, which is one of a few words."""
        text = self.text(column)
        if text not in choices:
            self.reject(column, f"is none of {', '.join(choices)}")
        return text


def iso_date(text: str) -> date | None:
    """Return the day that `text` writes as 2026-11-20, or None."""
    if not _ISO_DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def read_rows(text: str, sheet: str, *, columns: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of a CSV table that has exactly these columns, in any order.

    Blank lines are skipped. Raises PriceSheetError on anything else that is not a clean table.
    """
    if len(text) > MAX_SHEET_CHARS:
        msg = f"sheet {sheet!r} has {len(text)} characters: split it below {MAX_SHEET_CHARS}"
        raise PriceSheetError(msg)
    lines = _read_lines(text, sheet)
    header = next(lines, list[str]())
    if sorted(header) != sorted(columns):
        msg = f"sheet {sheet!r} has the columns {header[:30]}: it needs {list(columns)}"
        raise PriceSheetError(msg)
    for number, cells in enumerate(lines, start=2):
        if cells:
            _check_shape(cells, header, sheet, number)
            yield Row(sheet=sheet, number=number, cells=dict(zip(header, cells, strict=True)))


def _read_lines(text: str, sheet: str) -> Iterator[list[str]]:
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        yield from reader
    except csv.Error as error:
        msg = f"sheet {sheet!r}, line {reader.line_num}: {error}: correct the quoting there"
        raise PriceSheetError(msg) from error


def _check_shape(cells: Sequence[str], header: Sequence[str], sheet: str, number: int) -> None:
    where = f"sheet {sheet!r}, row {number}"
    if len(cells) != len(header):
        msg = f"{where}: {len(cells)} cells under {len(header)} columns: quote cells with commas"
        raise PriceSheetError(msg)
    for column, cell in zip(header, cells, strict=True):
        if len(cell) > MAX_CELL_CHARS:
            msg = f"{where}, column {column!r}: over {MAX_CELL_CHARS} characters: shorten it there"
            raise PriceSheetError(msg)
