"""Reads FOCUS bills in Parquet; the only module that imports pyarrow."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from io import BytesIO
from typing import Any, cast

from perfledger_cost_models.billing.focus import Bill, bill_of
from perfledger_cost_models.billing.focus_columns import BillError, column_places
from perfledger_cost_models.billing.focus_rows import MAX_ROWS, bill_rows
from perfledger_cost_models.prices.exchange_rates import ExchangeRateTable

MAX_BYTES = 2**30
# Uncompressed size of the columns read, by the file's footer; a million rows take about 1 GiB.
MAX_UNPACKED_BYTES = 8 * 2**30
BATCH_ROWS = 10_000
# Longer than any line of a CSV may be.
MAX_CELL_CHARACTERS = 200_000
MISSING = "bills in Parquet need pyarrow: pip install 'perfledger[parquet]', or export CSV"


def read_focus_parquet(
    data: bytes, *, team_tag: str = "", exchange_rates: ExchangeRateTable | None = None
) -> Bill:
    """Read a bill from the bytes of a Parquet file; `team_tag` as in `read_focus`.

    Times without a zone are UTC, as FOCUS prescribes. Raises BillError for a file that is not a
    FOCUS bill or is too large, and if pyarrow is not installed. The file is untrusted: it is
    decoded a few rows at a time, and its footer is used only to reject it.
    """
    if len(data) > MAX_BYTES:
        msg = f"the bill has {len(data)} bytes: export shorter periods, below {MAX_BYTES}"
        raise BillError(msg)
    try:
        parquet = cast("Any", import_module("pyarrow.parquet"))
        arrow = cast("Any", import_module("pyarrow"))
    except ModuleNotFoundError as error:
        raise BillError(MISSING) from error
    try:
        file = parquet.ParquetFile(BytesIO(data))
        columns = _columns(file)
        rows = enumerate(_rows(file, columns), start=2)  # as if a header were in line 1
        checked = bill_rows(columns, rows, exchange_rates=exchange_rates)
        return bill_of(checked, team_tag=team_tag, exchange_rates=exchange_rates)
    except (arrow.ArrowException, OSError, MemoryError, OverflowError, UnicodeDecodeError) as error:
        msg = f"the bill cannot be read as Parquet: {str(error)[:200]}: export it again"
        raise BillError(msg) from error


def _columns(file: Any) -> tuple[str, ...]:  # noqa: ANN401 - pyarrow has no types
    """Return the FOCUS columns of the file; raise BillError for a file that is too large."""
    names = tuple(column_places(file.schema_arrow.names))
    footer = file.metadata
    groups = [footer.row_group(index) for index in range(footer.num_row_groups)]
    size = sum(
        group.column(index).total_uncompressed_size
        for group in groups
        for index in range(group.num_columns)
        if group.column(index).path_in_schema.split(".")[0] in names
    )
    if footer.num_rows > MAX_ROWS or size > MAX_UNPACKED_BYTES:
        msg = f"the bill has {footer.num_rows} rows and {size} bytes: export shorter periods"
        raise BillError(msg)
    return names


def _rows(file: Any, columns: Sequence[str]) -> Iterator[Sequence[str]]:  # noqa: ANN401 - as above
    for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns)):
        for row in cast("list[Mapping[str, object]]", batch.to_pylist()):
            yield [_cell(row[name], name) for name in columns]


def _cell(value: object, column: str) -> str:
    """Return a value as a CSV has it; raise BillError for a type that FOCUS does not have."""
    match value:
        case _ if type(value) in (list, dict):
            text = _document(value)
        case None:
            text = ""
        case str():
            text = value
        case datetime():
            text = (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
        case bool():
            text = json.dumps(value)
        case int() | float() | Decimal():
            text = str(value)
        case _:
            msg = (
                f"the bill's column {column} has the type {type(value).__name__}, unknown in FOCUS"
            )
            raise BillError(msg)
    if len(text) > MAX_CELL_CHARACTERS:
        msg = f"the bill's column {column} has a cell of {len(text)} characters: this is not a bill"
        raise BillError(msg)
    return text


def _document(value: object) -> str:
    """Return a map or a struct as JSON; Parquet's maps come as pairs."""
    pairs = cast("list[object]", value) if isinstance(value, list) else []
    if pairs and all(isinstance(pair, tuple) for pair in pairs):
        return json.dumps(dict(cast("list[tuple[object, object]]", pairs)), default=str)
    return json.dumps(value, default=str)
