"""Upgrades databases of earlier versions to the current tables."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection as SqliteConnection

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.pool import ConnectionPoolEntry

from perfledger_service.errors import SettingsError
from perfledger_service.store.database import WRITES, open_engine
from perfledger_service.values.storage.schema_upgrade import SchemaUpgrade

# Key of the PostgreSQL advisory lock that lets one process migrate at a time.
_LOCK = 7176


def upgrade(url: str) -> SchemaUpgrade:
    """Upgrade the database at a SQLAlchemy URL; concurrent upgrades run one after the other."""
    try:
        with changing_tables(url) as connection:
            former_schema = MigrationContext.configure(connection).get_current_revision()
            command.upgrade(alembic_config(connection), "head")
            schema = MigrationContext.configure(connection).get_current_revision()
            return SchemaUpgrade(schema=schema or "", former_schema=former_schema)
    except (OperationalError, ProgrammingError) as error:
        msg = f"the database cannot be upgraded: {error.orig}"
        raise SettingsError(msg) from error


@contextmanager
def changing_tables(url: str) -> Generator[Connection]:
    """Open a transaction that may change tables; others wait until it ends."""
    engine = open_engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _drop_tables_freely)
    try:
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            yield connection
    finally:
        engine.dispose()


def is_current(engine: Engine) -> bool:
    """Return whether the database records the current revision."""
    with engine.connect() as connection:
        heads = ScriptDirectory.from_config(alembic_config(connection)).get_heads()
        return set(MigrationContext.configure(connection).get_current_heads()) == set(heads)


@contextmanager
def open_current(url: str) -> Generator[Engine]:
    """Open the database at a SQLAlchemy URL; raise SettingsError unless it is up to date."""
    engine = open_engine(url)
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    # Connecting would create an empty SQLite file; with a query the name may be a URI.
    if file is not None and not engine.url.query and not Path(file).exists():
        remedy = "set PERFLEDGER_DATABASE_URL, or run `perfledger server db upgrade`"
        msg = f"no database {file}: {remedy}"
        raise SettingsError(msg)
    try:
        try:
            is_up_to_date = is_current(engine)
        except OperationalError as error:
            msg = f"the database is not reachable: {error.orig}"
            raise SettingsError(msg) from None
        if not is_up_to_date:
            msg = "the database's tables are of another version: run `perfledger server db upgrade`"
            raise SettingsError(msg)
        yield engine
    finally:
        engine.dispose()


def alembic_config(connection: Connection) -> Config:
    """Return Alembic's configuration for our migrations on a connection."""
    config = Config()
    config.set_main_option("script_location", "perfledger_service.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def _drop_tables_freely(connection: SqliteConnection, record: ConnectionPoolEntry) -> None:  # noqa: ARG001
    # SQLite alters a table by dropping the old one, which foreign keys would refuse or follow.
    connection.execute("pragma foreign_keys = off")
