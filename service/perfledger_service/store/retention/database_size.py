"""Measures the database's file, and gives its free pages back to the file system."""

from sqlite3 import OperationalError

from sqlalchemy import Engine, text

from perfledger_service.errors import ConflictError, UsageError
from perfledger_service.values.storage.retention import DatabaseSize

_POSTGRESQL_REUSES = (
    "PostgreSQL reuses the space of removed rows by itself: VACUUM FULL gives it back to the file "
    "system and locks each table meanwhile"
)


def database_size(engine: Engine) -> DatabaseSize:
    """Return the database's size; PostgreSQL does not tell how much of it is free."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            size = text("select pg_database_size(current_database())")
            return DatabaseSize(bytes=int(connection.execute(size).scalar_one()), free_bytes=None)
        pages, free, page_bytes = (
            int(connection.execute(text(f"pragma {name}")).scalar_one())
            for name in ("page_count", "freelist_count", "page_size")
        )
    return DatabaseSize(bytes=pages * page_bytes, free_bytes=free * page_bytes)


def check_vacuum(engine: Engine) -> None:
    """Raise UsageError unless the database is SQLite's."""
    if engine.dialect.name != "sqlite":
        raise UsageError(_POSTGRESQL_REUSES)


def vacuum(engine: Engine) -> None:
    """Write SQLite's file again without its free pages; nobody else may write meanwhile.

    Raises ConflictError while another process writes, or if the disk is too full for a second copy.
    """
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute("vacuum")  # outside a transaction: our connections begin none themselves
        cursor.execute("pragma wal_checkpoint(truncate)")
    except OperationalError as error:
        msg = (
            f"the file is not written again: {error}; stop the service, and have as much free disk "
            "space as the file has bytes"
        )
        raise ConflictError(msg) from error
    finally:
        connection.close()
