"""Opens SQLite and PostgreSQL databases so that acknowledged writes are durable."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from sqlite3 import (
    SQLITE_BUSY,
    SQLITE_CANTOPEN,
    SQLITE_FULL,
    SQLITE_IOERR,
    SQLITE_LOCKED,
    SQLITE_NOMEM,
    SQLITE_PROTOCOL,
    SQLITE_READONLY,
    Connection as SqliteConnection,
    Error as SqliteError,
    OperationalError,
)
from typing import Any, Final, cast

import structlog
from sqlalchemy import (
    Connection,
    DateTime,
    Dialect,
    Engine,
    Table,
    create_engine,
    event,
    insert,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    OperationalError as SqlOperationalError,
    TimeoutError as PoolTimeoutError,
)
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.types import TypeDecorator
from sqlmodel import Session, SQLModel

from perfledger_service.errors import SettingsError

# Fewer rows than these are inserted: a copy of its own takes longer.
MIN_COPIED = 20
# How long a writer waits for another before "database is locked".
BUSY_TIMEOUT_MS = 10_000
# The same for a write that may be skipped, as a page's reader waits for it.
SHORT_TIMEOUT_MS = 50
MAX_ATTEMPTS = 10  # to set the journal mode of a database that others create at the same time
# Execution option of connections whose transactions begin with the write lock.
WRITES = "perfledger_writes"
# Execution option of connections that wait only briefly for it.
IS_BRIEF = "perfledger_is_brief"
# SQLite's result codes for an outage; a missing table or a syntax error has another one.
_OUTAGE_CODES: Final = frozenset(
    {
        *(SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN),
        *(SQLITE_NOMEM, SQLITE_PROTOCOL, SQLITE_READONLY),
    }
)
# PostgreSQL's error classes for an outage: connections, rollbacks for others, resources, locks,
# operators, the system. In class 25, only a server that became read-only.
_OUTAGE_CLASSES: Final = ("08", "25006", "40", "53", "55P03", "57", "58")
_PRIMARY_CODE = 0xFF  # SQLite's extended result codes have the primary code in their last byte
_POSTGRES = "postgresql+psycopg"
# PostgreSQL's names of the types of copied columns, by SQLAlchemy's.
_COPIED_TYPES: Final = {
    "BIGINT": "int8",
    "BOOLEAN": "bool",
    "BYTEA": "bytea",
    "DATE": "date",
    "DOUBLE PRECISION": "float8",
    "FLOAT": "float8",
    "INTEGER": "int4",
    "TEXT": "text",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "VARCHAR": "text",
}
_WHICH_URLS = "the database URL must be sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"

_log = structlog.stdlib.get_logger(__name__)


class UtcTime(TypeDecorator[datetime]):
    """Column of aware UTC times; SQLite has no time zones and would return naive ones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        """Return the time in UTC; raise ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            msg = f"{value} has no time zone: store aware times"
            raise ValueError(msg)
        return value.astimezone(UTC)

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002 - SQLAlchemy's signature
    ) -> datetime | None:
        """Return the stored time with its zone."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def open_engine(url: str) -> Engine:
    """Return an engine for a SQLAlchemy URL of a SQLite file or a PostgreSQL database.

    Raises SettingsError for anything else. Connects to nothing yet.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise SettingsError(_WHICH_URLS) from None
    match parsed.drivername:
        case "sqlite" if parsed.database:
            engine = create_engine(parsed)
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        case "postgresql" | "postgresql+psycopg":
            try:
                return create_engine(parsed.set(drivername=_POSTGRES), pool_pre_ping=True)
            except ModuleNotFoundError:
                msg = "PostgreSQL needs its driver: pip install 'perfledger[postgres]'"
                raise SettingsError(msg) from None
        case _:
            raise SettingsError(_WHICH_URLS)


@contextmanager
def read_session(engine: Engine) -> Generator[Session]:
    """Open a session that only reads."""
    with Session(engine) as session:
        yield session


@contextmanager
def read_snapshot(engine: Engine) -> Generator[Connection]:
    """Open a connection that sees the database as of its first query until it is closed."""
    options: dict[str, object] = (
        {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        if engine.dialect.name == "postgresql"
        else {}
    )
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


@contextmanager
def write_session(engine: Engine) -> Generator[Session]:
    """Open a session that may write, holding the write lock from the start; the caller commits.

    A SQLite transaction that reads before it writes fails when another one wrote in between,
    however long the timeout, so writers begin with BEGIN IMMEDIATE.
    """
    with Session(engine.execution_options(**{WRITES: True})) as session:
        yield session


def write_if_free(engine: Engine, write: Callable[[Session], None]) -> bool:
    """Write and commit something optional, and return whether it is stored.

    A read that includes it never fails because of it, and never waits long: not for another writer,
    and not if the database refuses, as on a full disk.
    """
    try:
        with Session(engine.execution_options(**{WRITES: True, IS_BRIEF: True})) as session:
            if engine.dialect.name == "postgresql":
                session.connection().execute(text(f"set local lock_timeout = {SHORT_TIMEOUT_MS}"))
            write(session)
            session.commit()
    except DBAPIError as error:
        _log.debug("left out a write", reason=type(error.orig).__name__)
        return False
    return True


def is_outage(error: BaseException) -> bool:
    """Return whether a database was away, full, locked or shut down, so that a retry may help.

    False for everything else, such as a missing table or a violated constraint, where a retry ends
    the same way.
    """
    if isinstance(error, PoolTimeoutError):  # all connections of the pool are in use
        return True
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    cause = error.orig
    if isinstance(cause, SqliteError):
        code = getattr(cause, "sqlite_errorcode", 0)  # absent if the driver itself refuses
        return code & _PRIMARY_CODE in _OUTAGE_CODES
    state = getattr(cause, "sqlstate", None)  # None: the server did not answer at all
    if state is None:
        return isinstance(error, SqlOperationalError)
    return str(state).startswith(_OUTAGE_CLASSES)


def is_storable(text: str) -> bool:
    """Return whether databases accept a text: they take neither lone surrogates nor NUL.

    A command's arguments contain lone surrogates if their bytes are not UTF-8.
    """
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def insert_rows(
    session: Session, row: type[SQLModel], values: Sequence[Mapping[str, object]]
) -> None:
    """Insert rows of a table in one statement, bypassing the session, which examines each value.

    All rows have the same columns. PostgreSQL copies many of them.
    """
    if not values:
        return
    session.flush()
    connection = session.connection()
    if connection.dialect.name == "postgresql" and len(values) >= MIN_COPIED:
        _copy_rows(connection, cast("Any", row).__table__, values)
    else:
        connection.execute(insert(row), values)


def _copy_rows(
    connection: Connection, table: Table, values: Sequence[Mapping[str, object]]
) -> None:
    """Copy rows to PostgreSQL in its binary format; the database fills other columns.

    Raises DBAPIError, as an insert does.
    """
    dialect = connection.dialect
    columns = [table.columns[name] for name in values[0]]
    quote = dialect.identifier_preparer
    names = ", ".join(quote.quote(one.name) for one in columns)
    statement = f"copy {quote.format_table(table)} ({names}) from stdin (format binary)"
    processors = [one.type.dialect_impl(dialect).bind_processor(dialect) for one in columns]
    readers = [(one.name, process) for one, process in zip(columns, processors, strict=True)]
    driver = cast("Any", connection.connection.driver_connection)  # psycopg's
    errors = cast("Any", dialect).loaded_dbapi.Error
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([_COPIED_TYPES[one.type.compile(dialect)] for one in columns])
            for row in values:
                copy.write_row(
                    [process(row[name]) if process else row[name] for name, process in readers]
                )
    except errors as error:
        is_lost = dialect.is_disconnect(error, driver, None)
        if is_lost:
            connection.invalidate(error)
        raise DBAPIError.instance(
            statement, (), error, errors, connection_invalidated=is_lost, dialect=dialect
        ) from error


def _prepare_sqlite(connection: SqliteConnection, record: ConnectionPoolEntry) -> None:  # noqa: ARG001
    # SQLAlchemy begins transactions, because the driver would begin them too late.
    connection.isolation_level = None
    connection.execute(f"pragma busy_timeout = {BUSY_TIMEOUT_MS}")
    _write_ahead(connection)
    connection.execute("pragma synchronous = full")  # an acknowledged upload survives power loss
    connection.execute("pragma foreign_keys = on")


def _write_ahead(connection: SqliteConnection) -> None:
    """Use a write-ahead log; retry if another process creates the database at the same time.

    SQLite does not wait in that case, since each process holds a lock that the other needs.
    """
    for _ in range(MAX_ATTEMPTS - 1):
        try:
            connection.execute("pragma journal_mode = wal")
        except OperationalError:
            connection.execute("begin immediate")  # returns once the other process is done
            connection.execute("rollback")
        else:
            return
    connection.execute("pragma journal_mode = wal")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get(WRITES, False):
        connection.exec_driver_sql("begin")
    elif not options.get(IS_BRIEF, False):
        connection.exec_driver_sql("begin immediate")
    else:
        connection.exec_driver_sql(f"pragma busy_timeout = {SHORT_TIMEOUT_MS}")
        try:
            connection.exec_driver_sql("begin immediate")
        finally:
            connection.exec_driver_sql(f"pragma busy_timeout = {BUSY_TIMEOUT_MS}")
