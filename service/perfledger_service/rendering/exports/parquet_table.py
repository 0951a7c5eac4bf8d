"""Writes an exported table as Parquet; besides the reader of bills, the only user of pyarrow."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import IO, Any, cast

from perfledger_service.errors import UsageError
from perfledger_service.values.backups.manifest import ColumnKind
from perfledger_service.values.storage.export_tables import ExportTable

MISSING = "Parquet files need pyarrow: pip install 'perfledger[parquet]', or export CSV"


def require_parquet() -> None:
    """Raise UsageError if pyarrow is not installed."""
    _module("pyarrow.parquet")


@contextmanager
def parquet_table(
    file: IO[bytes], table: ExportTable
) -> Generator[Callable[[Sequence[Sequence[object]]], None]]:
    """Write a table's schema, and yield a function that writes rows as one row group."""
    arrow = _module("pyarrow")
    types = _types(arrow)
    schema = arrow.schema(
        [
            arrow.field(
                column.name,
                types[column.kind],
                nullable=column.is_optional,
                metadata={"description": column.meaning},
            )
            for column in table.columns
        ]
    )
    with _module("pyarrow.parquet").ParquetWriter(file, schema, compression="zstd") as writer:

        def write(rows: Sequence[Sequence[object]]) -> None:
            columns = zip(*rows, strict=True)
            arrays = [
                arrow.array(values, field.type)
                for values, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))

        yield write


def _types(arrow: Any) -> dict[ColumnKind, object]:  # noqa: ANN401 - pyarrow has no types
    return {
        ColumnKind.TEXT: arrow.string(),
        ColumnKind.INTEGER: arrow.int64(),
        ColumnKind.FLOAT: arrow.float64(),
        ColumnKind.BOOLEAN: arrow.bool_(),
        ColumnKind.TIME: arrow.timestamp("us", tz="UTC"),
        ColumnKind.DATE: arrow.date32(),
    }


def _module(name: str) -> Any:  # noqa: ANN401 - as above
    try:
        return cast("Any", import_module(name))
    except ModuleNotFoundError as error:
        raise UsageError(MISSING) from error
