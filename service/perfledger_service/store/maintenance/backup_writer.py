"""Writes every row of the service's tables to one zip file: a member per table, and a manifest.

Rows are streamed from one snapshot, so the service may keep running.
"""

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from importlib.metadata import version
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

import msgspec
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Engine, MetaData, Table, TableClause, func, select, text
from sqlalchemy.types import LargeBinary

from perfledger_service.errors import PerfledgerError
from perfledger_service.store.database import read_snapshot
from perfledger_service.store.maintenance.backup_rows import kind_of, to_line
from perfledger_service.store.maintenance.table_modules import METADATA
from perfledger_service.values.backups.manifest import (
    FORMAT,
    FORMAT_VERSION,
    BackupColumn,
    BackupManifest,
    BackupTable,
    RowWatcher,
)

MANIFEST = "manifest.json"
# Their rows are neither backed up nor restored, since an ended session would become valid again.
# Backups before revision 0028 have a table of unfinished sign-ins.
SIGN_IN_TABLES = frozenset({"person_session", "sign_in_attempt"})
# Rows in memory at a time; those with a bundle or a file may have 32 MiB each.
ROWS, LARGE_ROWS = 1000, 2


def write_backup(
    engine: Engine, file: IO[bytes], *, watcher: RowWatcher, now: datetime
) -> BackupManifest:
    """Write every table as it is at one moment, those of sign-ins without rows.

    Raises PerfledgerError if SQLite finds the database damaged.
    """
    with read_snapshot(engine) as connection:
        _check_integrity(connection)
        tables = MetaData()
        tables.reflect(connection, only=sorted(METADATA.tables))
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            manifest = BackupManifest(
                format=FORMAT,
                format_version=FORMAT_VERSION,
                perfledger_version=version("perfledger"),
                schema=MigrationContext.configure(connection).get_current_revision() or "",
                database=connection.dialect.name,
                created_at=now,
                tables=tuple(
                    _write_table(connection, table, archive, watcher)
                    for table in tables.sorted_tables
                ),
            )
            archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


def member_of(table: str) -> str:
    """Return the name of a table's member."""
    return f"tables/{table}.ndjson"


def columns_of(table: TableClause) -> tuple[BackupColumn, ...]:
    """Return the columns of a table in their order."""
    return tuple(BackupColumn(name=str(one.name), kind=kind_of(one.type)) for one in table.columns)


def _check_integrity(connection: Connection) -> None:
    if connection.dialect.name != "sqlite":
        return
    problem = connection.execute(text("pragma integrity_check(1)")).scalar_one()
    if problem != "ok":
        msg = f"the database is damaged, and no backup was made: {problem}; restore the last one"
        raise PerfledgerError(msg)


def _write_table(
    connection: Connection, table: Table, archive: ZipFile, watcher: RowWatcher
) -> BackupTable:
    count = select(func.count()).select_from(table)
    total = 0 if table.name in SIGN_IN_TABLES else connection.execute(count).scalar_one()
    watcher.began(table.name, rows=total)
    digest, rows, size = sha256(), 0, 0
    with archive.open(member_of(table.name), "w", force_zip64=True) as member:
        for batch in _batches(connection, table):
            lines = b"".join(batch)
            member.write(lines)
            digest.update(lines)
            rows, size = rows + len(batch), size + len(lines)
            watcher.advanced(len(batch))
    return BackupTable(
        name=str(table.name),
        columns=columns_of(table),
        rows=rows,
        bytes=size,
        sha256=digest.hexdigest(),
    )


def _batches(connection: Connection, table: Table) -> Iterator[list[bytes]]:
    """Yield the lines of a table that are kept, by its key, a few at a time."""
    if table.name in SIGN_IN_TABLES:
        return
    is_large = any(
        isinstance(one.type, LargeBinary) and one.name == "content" for one in table.columns
    )
    query = select(table).order_by(*table.primary_key.columns)
    streaming = connection.execution_options(yield_per=LARGE_ROWS if is_large else ROWS)
    for partition in streaming.execute(query).partitions():
        yield [to_line(row) for row in partition]
