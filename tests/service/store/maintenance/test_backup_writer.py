import json
from zipfile import ZipFile

import pytest
from sqlalchemy import text

from perfledger_service.errors import PerfledgerError
from perfledger_service.store.database import open_engine, write_session
from perfledger_service.store.maintenance.backup_writer import SIGN_IN_TABLES, write_backup
from perfledger_service.store.projects import project_for
from perfledger_service.store.tables import StoreRow


@pytest.mark.slow(ci_only=True)
def test_every_table_is_in_a_backup(any_engine, fill, backup_of, watcher):
    fill(any_engine)
    path, manifest = backup_of(any_engine)

    assert {table.name for table in manifest.tables} == set(StoreRow.metadata.tables)
    rows = {name: int(name not in SIGN_IN_TABLES) for name in StoreRow.metadata.tables}
    assert {table.name: table.rows for table in manifest.tables} == watcher.tables == rows
    assert watcher.rows == manifest.rows == sum(rows.values())
    with ZipFile(path) as archive:
        document = json.loads(archive.read("manifest.json"))
    assert (document["format"], document["database"]) == (
        "perfledger-backup",
        any_engine.dialect.name,
    )


@pytest.mark.slow(ci_only=True)
def test_a_backup_is_of_one_moment(any_engine, backup_of, watcher, now, monkeypatch):
    with write_session(any_engine) as session:
        project_for(session, "octo/models", now=now)
        session.commit()

    def began(table, **_):
        with write_session(any_engine) as session:
            project_for(session, f"octo/while-{table}-was-written", now=now)
            session.commit()

    monkeypatch.setattr(watcher, "began", began)
    _, manifest = backup_of(any_engine)

    (projects,) = (table for table in manifest.tables if table.name == "project")
    assert projects.rows == 1


def test_a_damaged_database_is_not_backed_up(engine, fill, tmp_path, watcher, now):
    fill(engine)
    with engine.connect() as connection:
        connection.execute(text("pragma wal_checkpoint(truncate)"))
        size = connection.execute(text("pragma page_size")).scalar_one()
        query = text("select rootpage from sqlite_schema where name = 'observation'")
        page = connection.execute(query).scalar_one()
    engine.dispose()
    path = tmp_path / "perfledger.db"
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    damaged = open_engine(f"sqlite:///{path}")
    with (
        (tmp_path / "backup.zip").open("wb") as file,
        pytest.raises(PerfledgerError, match="the database is damaged, and no backup was made"),
    ):
        write_backup(damaged, file, watcher=watcher, now=now)
    damaged.dispose()


@pytest.mark.slow(ci_only=True)
def test_no_token_is_in_a_backup(engine, judged, make_bundle, backup_of):
    judged(engine, make_bundle())
    path, _ = backup_of(engine)
    with ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())

    assert b"pl_0123abcd" in content  # the prefix by which people tell tokens apart
    assert b"sssss" not in content
