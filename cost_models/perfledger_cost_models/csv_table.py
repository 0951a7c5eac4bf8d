"""Reads CSV tables of prices and hardware inputs into checked cells, and writes tables as CSV."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from io import StringIO
from typing import NoReturn

from perfledger_profiles.parsing.text_table import MAX_SHOWN_CELL, number_problem, read_table

# About 30,000 rows. The accelerator prices of all providers are a few thousand rows; the packaged
# price sheet has 151.
MAX_SHEET_CHARS = 8_000_000
MAX_CELL_CHARS = 500

# Plain ASCII decimals only: no exponent, no infinity, no digits of other scripts.
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class PriceSheetError(ValueError):
    """An error in a table of prices or hardware inputs."""


class CellError(PriceSheetError):
    """An error in one cell; `problem` names its column, not its sheet and line."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}, {problem}. Correct this cell.")
        self.problem = problem


class SourceConfidence(StrEnum):
    """How far a figure's source can be trusted; figures below LOW are on no sheet."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetRow:
    """One row of a table; reading a cell checks it and raises PriceSheetError."""

    sheet: str
    number: int  # of the line where the row begins; the header is line 1
    cells: Mapping[str, str]

    def reject(self, column: str, problem: str) -> NoReturn:
        """Raise an error that points at one cell."""
        where = f"sheet {self.sheet!r}, line {self.number}"
        content = self.cells[column][:MAX_SHOWN_CELL]
        raise CellError(where, f"column {column!r}: {content!r} {problem}")

    def text(self, column: str, *, is_optional: bool = False) -> str:
        """Return a cell's text; reject an empty cell and control characters."""
        text = self.cells[column].strip()
        if not text and not is_optional:
            self.reject(column, "is empty")
        if not text.isprintable():
            self.reject(column, "has control characters")
        return text

    def decimal(self, column: str) -> Decimal:
        """Return a cell's number exactly as written; it is finite and not negative."""
        text = self.text(column)
        if not _DECIMAL.fullmatch(text):
            otherwise = "is not a plain decimal number such as 55.04"
            self.reject(column, number_problem(text, otherwise=otherwise))
        return Decimal(text)

    def day(self, column: str) -> date:
        """Return a cell's date, in the form 2026-11-20."""
        day = iso_date(self.text(column))
        if day is None:
            self.reject(column, "is not a date such as 2026-11-20")
        return day

    def one_of(self, column: str, choices: Sequence[str]) -> str:
        """Return a cell's text, which must be one of `choices`."""
        text = self.text(column)
        if text not in choices:
            self.reject(column, f"is not one of {', '.join(choices)}")
        return text


def iso_date(text: str) -> date | None:
    """Parse a date in the form 2026-11-20; return None for any other text."""
    if not _ISO_DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def csv_text(header: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as CSV under a header; missing cells are empty, other cells are left out."""
    text = StringIO()
    writer: csv.DictWriter[str] = csv.DictWriter(
        text, header, lineterminator="\n", extrasaction="ignore"
    )
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_rows(
    text: str, sheet: str, *, columns: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[SheetRow]:
    """Yield the rows of a CSV table that has exactly these columns, in any order.

    Columns in `optional` may be present. Raises PriceSheetError for another table.
    """
    if len(text) > MAX_SHEET_CHARS:
        msg = f"sheet {sheet!r} has {len(text)} characters, limit {MAX_SHEET_CHARS}. Split it."
        raise PriceSheetError(msg)
    table = read_table(text, f"sheet {sheet!r}", error=PriceSheetError)
    header = table.header
    if sorted(set(header) - set(optional)) != sorted(columns):
        msg = f"sheet {sheet!r} has the columns {list(header[:30])}. It must have {list(columns)}."
        raise PriceSheetError(msg)
    for number, cells in table.rows:
        row = SheetRow(sheet=sheet, number=number, cells=dict(zip(header, cells, strict=True)))
        for column, cell in row.cells.items():
            if len(cell) > MAX_CELL_CHARS:
                row.reject(column, f"has over {MAX_CELL_CHARS} characters")
        yield row
