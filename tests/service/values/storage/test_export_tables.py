"""Tests that the tables of an export are those of their page, and that keys are of columns."""

from pathlib import Path

import pytest

from perfledger_service.values.storage.export_tables import EXPORT_TABLES

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "export.md"


@pytest.mark.parametrize("table", EXPORT_TABLES, ids=lambda table: table.name)
def test_every_column_is_on_the_page_of_exports_in_its_order(table):
    text = PAGE.read_text(encoding="utf-8")
    _, _, of_table = text.partition(f"\n## {table.name}\n")
    rows = [line for line in of_table.partition("\n## ")[0].split("\n") if line.startswith("| `")]

    assert rows == [
        f"| `{one.name}` | {one.kind}{' or empty' if one.is_optional else ''} | {one.meaning} |"
        for one in table.columns
    ]


@pytest.mark.parametrize("table", EXPORT_TABLES, ids=lambda table: table.name)
def test_a_key_is_of_columns_that_are_never_empty(table):
    columns = {one.name: one for one in table.columns}

    assert len(columns) == len(table.columns)
    assert not any(columns[name].is_optional for name in table.key)
