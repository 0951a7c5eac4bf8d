"""Reads CSV tables whose first line names the columns."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_cost_models.usage.device_spans import UsageFileError, header_of, rows_of


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One line of a table: its cells by the column's name in lower case."""

    where: str  # the file and the line
    cells: dict[str, str]


def read_rows(text: str, name: str, *, most_rows: int) -> tuple[CsvRow, ...]:
    """Return a table's rows; raise UsageFileError for none, too many, or ragged ones.

    A column that appears twice raises it, too: only one would count.
    """
    lines = rows_of(text, name)
    first = header_of(lines)
    header = [cell.strip().lower() for cell in first]
    twice = [cell for cell, count in Counter(header).items() if cell and count > 1]
    if twice:
        msg = f"{name} has the column {twice[0][:40]!r} twice: remove one"
        raise UsageFileError(msg)
    rows: list[CsvRow] = []
    for number, cells in lines:
        where = f"{name}, line {number}"
        if len(cells) != len(header):
            msg = f"{where}: {len(cells)} cells for {len(header)} columns: correct it"
            raise UsageFileError(msg)
        rows.append(CsvRow(where, dict(zip(header, cells, strict=True))))
        if len(rows) > most_rows:
            msg = f"{name} has more than {most_rows} rows: export a shorter period"
            raise UsageFileError(msg)
    if not rows:
        msg = f"{name} has no rows below its header: export it again"
        raise UsageFileError(msg)
    return tuple(rows)


def amounts(
    rows: Sequence[CsvRow], column: str, *, maximum: float, minimum: float = 0.0
) -> tuple[float, ...] | None:
    """Return a column of numbers from `minimum` to `maximum`; None if it does not exist.

    Raises UsageFileError for any other cell, empty ones included: unknown is not zero.
    """
    if column not in rows[0].cells:
        return None
    numbers: list[float] = []
    for row in rows:
        try:
            amount = float(row.cells[column])
        except ValueError:
            amount = math.nan
        if not minimum <= amount <= maximum:
            cell_text, ends = row.cells[column][:40], f"{minimum:g} to {maximum:g}"
            msg = f"{row.where}: {column} is {cell_text!r}, not {ends}: correct it"
            raise UsageFileError(msg)
        numbers.append(amount)
    return tuple(numbers)
