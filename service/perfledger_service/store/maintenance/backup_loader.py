"""Puts a backup into an empty database, in one transaction: all of it or nothing.

The tables are created as they were when the backup was made, filled, and then upgraded.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import (
    Connection,
    MetaData,
    Table,
    TableClause,
    column,
    func,
    insert,
    inspect,
    select,
    table as sql_table,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from perfledger_service.errors import ConflictError, UsageError
from perfledger_service.store.maintenance.backup_reader import BackupReader
from perfledger_service.store.maintenance.backup_writer import LARGE_ROWS, ROWS, columns_of
from perfledger_service.store.upgrade import alembic_config, changing_tables
from perfledger_service.values.backups.backup_manifest import (
    BackupManifest,
    BackupTable,
    RowWatcher,
)

VERSIONS = "alembic_version"
_SEQUENCE = text("select pg_get_serial_sequence(:table, :column)")


def load_backup(url: str, backup: BackupReader, *, watcher: RowWatcher) -> None:
    """Fill the database at a SQLAlchemy URL.

    Raises ConflictError if it is not empty, and UsageError for rows that do not fit its tables.
    """
    manifest = backup.manifest
    with changing_tables(url) as connection:
        _create_tables(connection, manifest)
        names = tuple(table.name for table in manifest.tables)
        tables = _matching_tables(connection, manifest)
        for stored in manifest.tables:
            watcher.began(stored.name, rows=stored.rows)
            try:
                _fill(connection, tables[stored.name], backup.rows(stored), watcher)
            except (SQLAlchemyError, OverflowError) as error:
                reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
                msg = f"rows of table {stored.name} do not fit the database: {reason}"
                raise UsageError(msg) from None
        _check_references(connection)
        _continue_numbers(connection, [tables[name] for name in names])
        command.upgrade(alembic_config(connection), "head")


def _create_tables(connection: Connection, manifest: BackupManifest) -> None:
    """Create the tables of the backup's version unless they are there and empty."""
    config = alembic_config(connection)
    revisions = {one.revision for one in ScriptDirectory.from_config(config).walk_revisions()}
    if manifest.schema not in revisions:
        msg = (
            f"the backup was made by perfledger {manifest.perfledger_version}, whose tables this "
            "version does not know: install that version or a newer one"
        )
        raise UsageError(msg)
    present = set(inspect(connection).get_table_names())
    names = {table.name for table in manifest.tables}
    if not present & (names | {VERSIONS}):
        command.upgrade(config, manifest.schema)
        return
    remedy = "name a new database in PERFLEDGER_DATABASE_URL"
    if not names <= present or _revision(connection) != manifest.schema:
        msg = f"the database has tables of another version than the backup: {remedy}"
        raise ConflictError(msg)
    tables = MetaData()
    tables.reflect(connection, only=sorted(names))
    for name, table in tables.tables.items():
        if connection.execute(select(1).select_from(table).limit(1)).first() is not None:
            msg = f"the database is not empty, table {name} has rows: {remedy}"
            raise ConflictError(msg)


def _revision(connection: Connection) -> str | None:
    query = text(f"select version_num from {VERSIONS}")  # noqa: S608 - a constant
    return connection.execute(query).scalar()


def _matching_tables(connection: Connection, manifest: BackupManifest) -> dict[str, TableClause]:
    """Return the database's tables by name; raise UsageError where the backup has others."""
    reflected = MetaData()
    reflected.reflect(connection)
    tables = {name: one for name, one in reflected.tables.items() if name != VERSIONS}
    ours = {one.name: set(one.columns) for one in manifest.tables}
    if len(ours) != len(manifest.tables) or not ours.keys() <= tables.keys():
        msg = f"the backup has tables that schema {manifest.schema} lacks: it was changed"
        raise UsageError(msg)
    for one in manifest.tables:
        if set(columns_of(tables[one.name])) != set(one.columns):
            msg = f"table {one.name} of the backup has other columns than schema {manifest.schema}"
            raise UsageError(msg)
    return {one.name: _in_order(tables[one.name], one) for one in manifest.tables}


def _in_order(table: Table, stored: BackupTable) -> TableClause:
    """Return a table with its columns in the order of a backup's rows."""
    types = {one.name: one.type for one in table.columns}
    return sql_table(table.name, *(column(one.name, types[one.name]) for one in stored.columns))


def _fill(
    connection: Connection,
    table: TableClause,
    rows: Iterator[tuple[object, ...]],
    watcher: RowWatcher,
) -> None:
    names = [one.name for one in table.columns]
    size = LARGE_ROWS if "content" in names else ROWS
    while batch := list(islice(rows, size)):
        values = [dict(zip(names, row, strict=True)) for row in batch]
        connection.execute(insert(table), values)
        watcher.advanced(len(batch))


def _check_references(connection: Connection) -> None:
    """Raise UsageError if a row refers to one that is not there: SQLite has not looked yet."""
    if connection.dialect.name != "sqlite":
        return
    broken = connection.execute(text("pragma foreign_key_check")).first()
    if broken is not None:
        msg = f"a row of table {broken[0]} refers to one that the backup lacks: it was changed"
        raise UsageError(msg)


def _continue_numbers(connection: Connection, tables: Sequence[TableClause]) -> None:
    """Let PostgreSQL number new rows after those of the backup, as SQLite does by itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        if "id" not in table.columns:
            continue
        sequence = connection.execute(_SEQUENCE, {"table": table.name, "column": "id"}).scalar()
        last = connection.execute(select(func.max(table.columns["id"]))).scalar()
        if sequence is not None and last is not None:
            connection.execute(select(func.setval(sequence, last)))
