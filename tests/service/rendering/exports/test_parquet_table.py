"""Tests that a table in Parquet keeps types, and that nothing is written without pyarrow."""

import sys
from datetime import UTC, date, datetime
from io import BytesIO

import pytest
from pyarrow import parquet, types

from perfledger_baselines.history.commits.event_state import EventState
from perfledger_service.errors import UsageError
from perfledger_service.rendering.exports.parquet_table import parquet_table, require_parquet
from perfledger_service.values.backups.manifest import ColumnKind
from perfledger_service.values.storage.export_tables import (
    EXPORT_TABLES,
    ExportColumn,
    ExportTable,
)

VALUES = {
    ColumnKind.TEXT: EventState.OPEN,
    ColumnKind.INTEGER: 2**40,
    ColumnKind.FLOAT: float("inf"),
    ColumnKind.BOOLEAN: False,
    ColumnKind.TIME: datetime(2026, 11, 20, 12, 0, 0, 5, tzinfo=UTC),
    ColumnKind.DATE: date(2026, 11, 20),
}
TABLE = ExportTable(
    name="kinds",
    meaning="a column of each kind",
    key=("text",),
    columns=tuple(
        ExportColumn(name=kind, kind=kind, meaning=f"a {kind}", is_optional=True) for kind in VALUES
    ),
)


def written(table, *batches):
    file = BytesIO()
    with parquet_table(file, table) as write:
        for rows in batches:
            write(rows)
    file.seek(0)
    return parquet.ParquetFile(file)


def test_values_of_every_kind_are_read_again():
    nothing = (None,) * len(VALUES)
    rows = written(TABLE, [tuple(VALUES.values()), nothing], [nothing]).read().to_pylist()

    assert rows == [{str(kind): value for kind, value in VALUES.items()}] + 2 * [
        dict.fromkeys(map(str, VALUES))
    ]


@pytest.mark.parametrize("table", EXPORT_TABLES, ids=lambda table: table.name)
def test_a_table_without_rows_has_its_columns_with_their_meaning(table):
    file = written(table)

    assert file.metadata.num_rows == 0
    assert [
        (field.name, field.metadata[b"description"].decode(), field.nullable)
        for field in file.schema_arrow
    ] == [(one.name, one.meaning, one.is_optional) for one in table.columns]


def test_times_have_their_zone():
    (field,) = [one for one in written(TABLE).schema_arrow if one.name == "time"]

    assert types.is_timestamp(field.type)
    assert field.type.tz == "UTC"


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)

    with pytest.raises(UsageError, match=r"pip install 'perfledger\[parquet\]', or export CSV"):
        require_parquet()
