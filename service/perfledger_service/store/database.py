"""Opens SQLite and PostgreSQL databases so that acknowledged writes are durable."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from sqlite3 import Connection as SqliteConnection, OperationalError

from sqlalchemy import Connection, DateTime, Dialect, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.types import TypeDecorator
from sqlmodel import Session

from perfledger_service.errors import SettingsError

# How long a writer waits for another one before "database is locked".
BUSY_TIMEOUT_MS = 10_000
MAX_ATTEMPTS = 10  # to set the journal mode of a database that others create at the same time
# Execution option of connections whose transactions begin with the lock for writing.
WRITES = "perfledger_writes"
_POSTGRES = "postgresql+psycopg"
_WHICH_URLS = "the database URL must be sqlite:///FILE or postgresql+psycopg://USER@HOST/DATABASE"


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
def write_session(engine: Engine) -> Generator[Session]:
    """Open a session that may write, holding the write lock from the start; the caller commits.

    A SQLite transaction that reads before it writes fails when another one wrote in between,
    however long the timeout, so writers begin with BEGIN IMMEDIATE.
    """
    with Session(engine.execution_options(**{WRITES: True})) as session:
        yield session


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
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("begin immediate" if writes else "begin")
