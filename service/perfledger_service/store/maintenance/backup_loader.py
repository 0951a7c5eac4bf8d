"""Loads a backup into an empty database, in one transaction: all of it or nothing.

The tables are created as they were when the backup was made, filled, and then upgraded. Nobody is
signed in afterwards.
"""

from collections.abc import Collection, Iterator, Sequence

from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import (
    Connection,
    TableClause,
    column,
    func,
    insert,
    inspect,
    select,
    table as sql_table,
    text,
)
from sqlalchemy.exc import OperationalError, ProgrammingError, SQLAlchemyError

from perfledger_service.errors import ConflictError, UsageError
from perfledger_service.store.maintenance.backup_reader import BackupReader
from perfledger_service.store.maintenance.backup_writer import ROWS, SIGN_IN_TABLES, columns_of
from perfledger_service.store.tables import StoreRow
from perfledger_service.store.upgrade import alembic_config, changing_tables
from perfledger_service.values.backups.manifest import (
    BackupManifest,
    BackupTable,
    RowWatcher,
)

VERSIONS = "alembic_version"
# Also limits a batch of rows in memory: a row may have 128 MiB, and compress to next to nothing.
MAX_BATCH_BYTES = 16 * 1024 * 1024
_SEQUENCE = text("select pg_get_serial_sequence(:table, :column)")


def load_backup(url: str, backup: BackupReader, *, watcher: RowWatcher) -> None:
    """Fill the database at a SQLAlchemy URL.

    Raises ConflictError if it is not empty, UsageError for tables that are not those of the
    backup's version and for rows that do not fit them, and SQLAlchemy's OperationalError or
    ProgrammingError if the database fails or its user lacks permission.
    """
    manifest = backup.manifest
    with changing_tables(url) as connection:
        names = _tables_of_version(connection, manifest)
        _create_tables(connection, manifest, names)
        tables = _matching_tables(connection, manifest, names)
        for stored in manifest.tables:
            if stored.name in SIGN_IN_TABLES:
                continue
            watcher.began(stored.name, rows=stored.rows)
            try:
                _fill(connection, tables[stored.name], backup.rows(stored), watcher)
            except (OperationalError, ProgrammingError):
                raise  # caused by the connection or the user's permissions, not by the rows
            except (SQLAlchemyError, OverflowError) as error:
                reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
                msg = f"rows of table {stored.name} do not fit the database: {reason}"
                raise UsageError(msg) from None
        _check_references(connection)
        _continue_numbers(connection, list(tables.values()))
        command.upgrade(alembic_config(connection), "head")


def _tables_of_version(connection: Connection, manifest: BackupManifest) -> Collection[str]:
    """Return the names of all tables of the backup's version, whatever the backup has."""
    scripts = ScriptDirectory.from_config(alembic_config(connection))
    if manifest.schema == scripts.get_current_head():
        return StoreRow.metadata.tables.keys()
    if manifest.schema not in {one.revision for one in scripts.walk_revisions()}:
        msg = (
            f"the backup was made by perfledger {manifest.perfledger_version}, whose tables this "
            "version does not know: install that version or a newer one"
        )
        raise UsageError(msg)
    with changing_tables("sqlite:///:memory:") as scratch:
        command.upgrade(alembic_config(scratch), manifest.schema)
        return set(inspect(scratch).get_table_names()) - {VERSIONS}


def _create_tables(
    connection: Connection, manifest: BackupManifest, names: Collection[str]
) -> None:
    """Create the tables of the backup's version unless they are there and empty."""
    present = set(inspect(connection).get_table_names())
    if not present & {*names, *StoreRow.metadata.tables, VERSIONS}:
        command.upgrade(alembic_config(connection), manifest.schema)
        return
    remedy = "name a new database in PERFLEDGER_DATABASE_URL"
    if not {*names, VERSIONS} <= present or _revision(connection) != manifest.schema:
        msg = f"the database has tables of another version than the backup: {remedy}"
        raise ConflictError(msg)
    for name in sorted(names):
        query = select(1).select_from(sql_table(name)).limit(1)
        if connection.execute(query).one_or_none() is not None:
            msg = f"the database is not empty, table {name} has rows: {remedy}"
            raise ConflictError(msg)


def _revision(connection: Connection) -> str | None:
    query = text(f"select version_num from {VERSIONS}")  # noqa: S608 - a constant
    return connection.execute(query).scalar()


def _matching_tables(
    connection: Connection, manifest: BackupManifest, names: Collection[str]
) -> dict[str, TableClause]:
    """Return the tables with these names, as in the backup; raise UsageError for others."""
    if sorted(one.name for one in manifest.tables) != sorted(names):
        msg = f"the backup's tables are not those of schema {manifest.schema}: it was changed"
        raise UsageError(msg)
    reflected = inspect(connection).get_multi_columns(filter_names=sorted(names))
    tables = {
        name: sql_table(name, *(column(one["name"], one["type"]) for one in columns))
        for (_, name), columns in reflected.items()
    }
    for one in manifest.tables:
        if set(columns_of(tables[one.name])) != set(one.columns):
            msg = (
                f"table {one.name} of the backup has columns that are not those of schema "
                f"{manifest.schema}"
            )
            raise UsageError(msg)
    return {one.name: _in_order(tables[one.name], one) for one in manifest.tables}


def _in_order(table: TableClause, stored: BackupTable) -> TableClause:
    """Return a table with its columns in the order of a backup's rows."""
    types = {one.name: one.type for one in table.columns}
    return sql_table(table.name, *(column(one.name, types[one.name]) for one in stored.columns))


def _fill(
    connection: Connection,
    table: TableClause,
    rows: Iterator[tuple[tuple[object, ...], int]],
    watcher: RowWatcher,
) -> None:
    names = [one.name for one in table.columns]
    for batch in _batches(rows):
        values = [dict(zip(names, row, strict=True)) for row in batch]
        connection.execute(insert(table), values)
        watcher.advanced(len(batch))


def _batches(
    rows: Iterator[tuple[tuple[object, ...], int]],
) -> Iterator[list[tuple[object, ...]]]:
    """Yield batches of rows that come with their size, as large as memory should hold."""
    batch: list[tuple[object, ...]] = []
    size = 0
    for row, row_bytes in rows:
        batch.append(row)
        size += row_bytes
        if len(batch) == ROWS or size >= MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _check_references(connection: Connection) -> None:
    """Raise UsageError if a row refers to a missing one: SQLite has not checked yet."""
    if connection.dialect.name != "sqlite":
        return
    broken = connection.execute(text("pragma foreign_key_check")).first()
    if broken is not None:
        msg = f"a row of table {broken[0]} refers to one that the backup lacks: it was changed"
        raise UsageError(msg)


def _continue_numbers(connection: Connection, tables: Sequence[TableClause]) -> None:
    """Make PostgreSQL number new rows after the backup's, as SQLite does by itself."""
    if connection.dialect.name != "postgresql":
        return
    for table in tables:
        if "id" not in table.columns:
            continue
        sequence = connection.execute(_SEQUENCE, {"table": table.name, "column": "id"}).scalar()
        last = connection.execute(select(func.max(table.columns["id"]))).scalar()
        if sequence is not None and last is not None:
            connection.execute(select(func.setval(sequence, last)))
