"""Tests the description of an export's files."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_service.rendering.exports.data_package import data_package
from perfledger_service.values.storage.export_tables import EXPORT_TABLES
from perfledger_service.values.storage.project_export import (
    ExportedTable,
    ExportFormat,
    ProjectExport,
)

EXPORT = ProjectExport(
    created_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
    perfledger_version="1.2.3",
    file_format=ExportFormat.CSV,
    repositories=("octo/models",),
    tables=tuple(
        ExportedTable(table=table, file=f"{table.name}.csv", rows=0, bytes=7, sha256="0" * 64)
        for table in EXPORT_TABLES
    ),
)
# Of Table Schema: https://specs.frictionlessdata.io/table-schema/#types-and-formats.
TYPES = {"string", "number", "integer", "boolean", "date", "datetime"}


def test_every_column_has_a_type_of_table_schema_and_a_meaning():
    package = json.loads(data_package(EXPORT))
    fields = [field for one in package["resources"] for field in one["schema"]["fields"]]

    assert {field["type"] for field in fields} == TYPES
    assert all(field["description"] for field in fields)


def test_a_key_is_of_columns_that_are_there():
    for one in json.loads(data_package(EXPORT))["resources"]:
        names = {field["name"] for field in one["schema"]["fields"]}

        assert set(one["schema"]["primaryKey"]) <= names


@pytest.mark.parametrize(
    ("file_format", "profile"),
    [(ExportFormat.CSV, "tabular-data-resource"), (ExportFormat.PARQUET, "data-resource")],
)
def test_only_csv_is_called_tabular(file_format, profile):
    package = json.loads(data_package(replace(EXPORT, file_format=file_format)))

    assert {one["profile"] for one in package["resources"]} == {profile}
