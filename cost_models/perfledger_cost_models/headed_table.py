"""A CSV whose first line names its columns into rows by column, and columns of amounts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_cost_models.usage import UsageFileError, rows_of


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: its cells by the column's name in small letters."""

    where: str  # the file and the line
    cells: dict[str, str]


def read_rows(text: str, name: str, *, most_rows: int) -> tuple[Row, ...]:
    """Return a table's rows; raises UsageFileError for none, too many, or ragged ones."""
    lines = rows_of(text, name)
    _, first = next(lines, (0, list[str]()))
    header = [cell.strip().lower() for cell in first]
    rows: list[Row] = []
    for number, cells in lines:
        where = f"{name}, line {number}"
        if len(cells) != len(header):
            msg = f"{where}: {len(cells)} cells under {len(header)} columns: correct it"
            raise UsageFileError(msg)
        rows.append(Row(where, dict(zip(header, cells, strict=True))))
        if len(rows) > most_rows:
            msg = f"{name} has more than {most_rows} rows: cut it to the time that matters"
            raise UsageFileError(msg)
    if not rows:
        msg = f"{name} has no rows under its header: export it again"
        raise UsageFileError(msg)
    return tuple(rows)


def amounts(rows: Sequence[Row], column: str, *, most: float) -> tuple[float, ...] | None:
    """Return a column of numbers from 0 to `most`, None where there is no such column.

    Raises UsageFileError, for an empty cell too: what is not known is not nothing.
    """
    if column not in rows[0].cells:
        return None
    found: list[float] = []
    for row in rows:
        try:
            amount = float(row.cells[column])
        except ValueError:
            amount = math.nan
        if not 0 <= amount <= most:
            shown = row.cells[column][:40]
            msg = f"{row.where}: {column} is {shown!r}, not 0 to {most:g}: correct it"
            raise UsageFileError(msg)
        found.append(amount)
    return tuple(found)
