"""Databases with a row in every table, and backups of them to restore, cut or forge."""

import json
import shutil
from datetime import date
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from sqlalchemy import column, insert, inspect, select, table as sql_table

from perfledger_service.store.database import open_engine
from perfledger_service.store.maintenance import backup_writer
from perfledger_service.store.maintenance.backup_rows import kind_of
from perfledger_service.store.maintenance.backup_writer import write_backup
from perfledger_service.store.maintenance.table_modules import METADATA
from perfledger_service.values.backups.manifest import ColumnKind

TEXT = 'x"}\u2028\té'  # the same in every column, so that each row refers to one that is there


class Watching:
    """Remembers the tables and rows that it was shown."""

    def __init__(self):
        self.tables, self.rows = {}, 0

    def began(self, table, *, rows):
        self.tables[table] = rows

    def advanced(self, rows):
        self.rows += rows


@pytest.fixture
def watcher():
    return Watching()


@pytest.fixture(scope="session")
def fill(now):
    """Put one row into every table of a database, with a value in every column."""
    values = {
        ColumnKind.INTEGER: 1,
        ColumnKind.FLOAT: 0.1,
        ColumnKind.BOOLEAN: True,
        ColumnKind.TEXT: TEXT,
        ColumnKind.TIME: now,
        ColumnKind.DATE: date(2026, 2, 28),
        ColumnKind.BYTES: b"\x00\xff",
    }

    def fill(engine):
        with engine.begin() as connection:
            for table in tables_of(connection):
                row = {column.name: values[kind_of(column.type)] for column in table.columns}
                connection.execute(insert(table), row)

    return fill


def tables_of(connection):
    """Return the tables of a database, each after those to which its rows refer."""
    inspector = inspect(connection)
    columns = inspector.get_multi_columns()
    names = [name for name, _ in inspector.get_sorted_table_and_fkc_names() if name]
    return [
        sql_table(name, *(column(one["name"], one["type"]) for one in columns[None, name]))
        for name in names
        if name != "alembic_version"
    ]


@pytest.fixture
def rows_at():
    """Return the rows of every table of the database at a URL."""

    def rows_at(url):
        engine = open_engine(url)
        with engine.connect() as connection:
            rows = {
                table.name: sorted(
                    repr([_comparable(value) for value in row])
                    for row in connection.execute(select(table))
                )
                for table in tables_of(connection)
            }
        engine.dispose()
        return rows

    return rows_at


def _comparable(value):
    """Return a value without its time zone, which SQLite does not keep."""
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value


@pytest.fixture
def backup_of(tmp_path, watcher, now, monkeypatch):
    """Write a backup of a database, and return its path and its manifest.

    `names` are the tables of the code that writes it; older code knows fewer.
    """

    def back_up(engine, names=METADATA.tables):
        path = tmp_path / "backup.zip"
        with monkeypatch.context() as older, path.open("wb") as file:
            older.setattr(backup_writer, "METADATA", SimpleNamespace(tables=names))
            manifest = write_backup(engine, file, watcher=watcher, now=now)
        return path, manifest

    return back_up


@pytest.fixture(scope="session")
def backup_file(migrated_file, tmp_path_factory, fill, now):
    """The path of a backup of a SQLite database with a row in every table, which tests share."""
    folder = tmp_path_factory.mktemp("backup")
    engine = open_engine(f"sqlite:///{shutil.copy(migrated_file, folder)}")
    fill(engine)
    with (folder / "backup.zip").open("wb") as file:
        write_backup(engine, file, watcher=Watching(), now=now)
    engine.dispose()
    return folder / "backup.zip"


@pytest.fixture
def backup(backup_file, tmp_path):
    """The path of a copy of this backup."""
    return shutil.copy(backup_file, tmp_path / "backup.zip")


@pytest.fixture
def forged(backup):
    """Write a backup anew with other members; None removes one."""

    def forge(changes=None, *, manifest=None):
        with ZipFile(backup) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        if manifest is not None:
            document = json.loads(members["manifest.json"])
            manifest(document)
            members["manifest.json"] = json.dumps(document).encode()
        members |= changes or {}
        with ZipFile(backup, "w") as archive:
            for name, content in members.items():
                if content is not None:
                    archive.writestr(name, content)
        return backup

    return forge
