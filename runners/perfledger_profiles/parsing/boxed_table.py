"""Parses tables drawn in a terminal with box characters."""

from collections.abc import Sequence

# Names are shorter even in a wide terminal.
_MAX_NAME = 200
_BORDERS = ("\N{BOX DRAWINGS HEAVY VERTICAL}", "\N{BOX DRAWINGS LIGHT VERTICAL}")


def printed_rows(lines: Sequence[str]) -> list[list[str]]:
    """Return the cells of each row, header rows included; empty without such a table.

    A row with text only in its first cell continues the row above: rich wraps long names this way.
    """
    rows: list[list[str]] = []
    for line in lines:
        border = next((each for each in _BORDERS if line.lstrip().startswith(each)), "")
        if not border or not line.rstrip().endswith(border):
            continue
        cells = [cell.strip() for cell in line.strip().strip(border).split(border)]
        above = rows[-1] if rows else []
        is_name_only = len(cells) == len(above) > 1 and not any(cells[1:])
        if is_name_only and len(above[0]) < _MAX_NAME:
            above[0] = f"{above[0]} {cells[0]}"
        else:
            rows.append(cells)
    return rows
