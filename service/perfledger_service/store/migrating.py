"""A database in any earlier state in, one with the tables of today out."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection as SqliteConnection

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.pool import ConnectionPoolEntry

from perfledger_service.errors import SettingsError
from perfledger_service.store.database import WRITES, open_engine
from perfledger_service.store.tables import Row

# Key of the PostgreSQL advisory lock that lets one process migrate at a time.
_LOCK = 7176


def upgrade(url: str) -> None:
    """Bring the database at a SQLAlchemy URL up to date; two at once do it one after the other."""
    with _migrating(url) as connection:
        command.upgrade(_config(connection), "head")


def downgrade(url: str, *, to: str) -> None:
    """Take the database at a SQLAlchemy URL back to a revision; "base" is the empty database."""
    with _migrating(url) as connection:
        command.downgrade(_config(connection), to)


def is_current(engine: Engine) -> bool:
    """Return whether the database has the tables of today, by its own record."""
    with engine.connect() as connection:
        heads = ScriptDirectory.from_config(_config(connection)).get_heads()
        return set(MigrationContext.configure(connection).get_current_heads()) == set(heads)


@contextmanager
def open_current(url: str) -> Generator[Engine]:
    """Open the database at a SQLAlchemy URL, if it answers and is up to date.

    Raises SettingsError otherwise, saying what to do.
    """
    engine = open_engine(url)
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    # SQLite would make an empty one where it is only looked for; a query may make the name a URI.
    if file is not None and not engine.url.query and not Path(file).exists():
        msg = f"no database {file}: set PERFLEDGER_DATABASE_URL, or run `perfledger db upgrade`"
        raise SettingsError(msg)
    try:
        try:
            is_up_to_date = is_current(engine)
        except OperationalError as error:
            msg = f"the database does not answer: {error.orig}"
            raise SettingsError(msg) from None
        if not is_up_to_date:
            msg = "the database's tables are not this version's: run `perfledger db upgrade`"
            raise SettingsError(msg)
        yield engine
    finally:
        engine.dispose()


def differences(engine: Engine) -> tuple[object, ...]:
    """Return what a migration would have to change for the database to match the tables."""
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        return tuple(compare_metadata(context, Row.metadata))


@contextmanager
def _migrating(url: str) -> Generator[Connection]:
    """Open one transaction that holds all of a migration, or none of it."""
    engine = open_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _drop_tables_freely)
    try:
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield connection
    except (OperationalError, ProgrammingError) as error:
        msg = f"the database cannot be migrated: {error.orig}"
        raise SettingsError(msg) from error
    finally:
        engine.dispose()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", "perfledger_service.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _drop_tables_freely(connection: SqliteConnection, record: ConnectionPoolEntry) -> None:  # noqa: ARG001
    # Altering a table means dropping the old one, which foreign keys would refuse or follow.
    connection.execute("pragma foreign_keys = off")
