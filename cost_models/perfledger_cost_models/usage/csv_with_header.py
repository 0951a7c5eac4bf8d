"""Reads CSV tables whose first line names the columns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger.rounding import typed
from perfledger_cost_models.usage.device_spans import UsageFileError
from perfledger_profiles.parsing.text_table import is_number, lower_name, number_problem, read_table


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One line of a table: its cells by the column's name in lower case."""

    where: str  # the file and the line
    cells: dict[str, str]


def read_rows(text: str, name: str, *, most_rows: int) -> tuple[CsvRow, ...]:
    """Return a table's rows; raise UsageFileError for none, too many, or ragged ones."""
    table = read_table(text, name, error=UsageFileError, name_of=lower_name)
    rows: list[CsvRow] = []
    for number, cells in table.rows:
        rows.append(CsvRow(f"{name}, line {number}", dict(zip(table.header, cells, strict=True))))
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
        cell = row.cells[column]
        amount = float(cell) if is_number(cell) else math.nan
        if not minimum <= amount <= maximum:
            ends = f"{typed(minimum)} to {typed(maximum)}"
            problem = number_problem(cell, otherwise=f"is not {ends}")
            msg = f"{row.where}: {column} {cell[:40]!r} {problem}: correct it"
            raise UsageFileError(msg)
        numbers.append(amount)
    return tuple(numbers)
