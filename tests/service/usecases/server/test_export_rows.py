"""Tests the rows of an export: as long as their table is wide, and counted to the end."""

import pytest
from sqlmodel import Session

from perfledger_service.store.database import read_snapshot
from perfledger_service.store.projects import projects
from perfledger_service.usecases.server import export_rows
from perfledger_service.usecases.server.export_rows import count_progress, read_rows
from perfledger_service.values.storage.export_tables import EXPORT_TABLES


@pytest.mark.parametrize("table", EXPORT_TABLES, ids=lambda table: table.name)
def test_rows_have_a_value_for_each_column_and_their_progress_ends_at_its_count(
    any_engine, judged, make_bundle, monkeypatch, *, table
):
    monkeypatch.setattr(export_rows, "PAGE_ROWS", 1)
    judged(any_engine, make_bundle(pairs=4))
    done = []
    with read_snapshot(any_engine) as connection, Session(connection) as session:
        [project] = projects(session)
        rows = list(read_rows(session, project, table, done.append))
        total = count_progress(session, project, table)

    assert rows
    assert {len(row) for row in rows} == {len(table.columns)}
    assert sum(done) == total
