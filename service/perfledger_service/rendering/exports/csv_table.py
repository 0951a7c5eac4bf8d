"""Writes an exported table as CSV from which every value can be read back exactly."""

import csv
import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import date
from io import TextIOWrapper
from typing import IO

from perfledger_service.rendering.layout.escape import exact_cell
from perfledger_service.values.storage.export_tables import ExportTable


@contextmanager
def csv_table(
    file: IO[bytes], table: ExportTable
) -> Generator[Callable[[Sequence[Sequence[object]]], None]]:
    """Write a table's header, and yield a function that writes rows."""
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text)
    writer.writerow([column.name for column in table.columns])
    yield lambda rows: writer.writerows([_cell(value) for value in row] for row in rows)
    text.detach()


def _cell(value: object) -> str:
    """Return a value in the form of Data Packages' Table Schema; text is never a formula."""
    match value:
        case None:
            return ""
        case str():
            return exact_cell(str(value))
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return str(value).upper().replace("NAN", "NaN")
        case date():
            return value.isoformat().replace("+00:00", "Z")
        case _:
            return str(value)
