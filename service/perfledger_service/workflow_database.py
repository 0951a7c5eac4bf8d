"""Prepares the database of the workflow engine: its address, its journal and its clock."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path, PurePath

from sqlalchemy import create_engine, inspect, make_url

# From this version on SQLite's unixepoch() knows 'subsec', which the engine asks for on Python 3.12
# and newer. Debian 12 has 3.40.
SUBSECOND_SQLITE = (3, 42)


def workflow_database_url(database_url: str) -> str:
    """Return the URL of the engine's own tables.

    PostgreSQL: a schema of its own in the application's database. SQLite: a file beside the
    application's, since a file has one writer at a time.
    """
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite":
        return database_url
    file = PurePath(url.database or "")
    return f"sqlite:///{file.with_name(f'{file.stem}-jobs{file.suffix}')}"


def workflow_tables(database_url: str) -> str:
    """Return where the engine's tables of a service are, "" where it never ran.

    What they say was done would not be done again for a database that is restored beside them.
    """
    url = make_url(workflow_database_url(database_url))
    if url.get_backend_name() == "sqlite":
        return str(url.database) if Path(url.database or "").is_file() else ""
    engine = create_engine(url.set(drivername="postgresql+psycopg"))
    try:
        return "schema dbos" if inspect(engine).has_schema("dbos") else ""
    finally:
        engine.dispose()


def prepare_sqlite(url: str) -> None:
    """Create the file with a write-ahead log, which persists, before the engine creates it."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(parsed.database or "")) as connection:
            connection.execute("pragma journal_mode = wal")


def engine_options(url: str) -> dict[str, object]:
    """Return what the engine's connections need: an old SQLite is taught to count milliseconds."""
    is_sqlite = make_url(url).get_backend_name() == "sqlite"
    if not is_sqlite or sqlite3.sqlite_version_info >= SUBSECOND_SQLITE:
        return {}
    return {"pool_events": [(_add_subsecond_clock, "connect")]}


def _add_subsecond_clock(connection: sqlite3.Connection, _record: object) -> None:
    """Replace unixepoch(WORD) of this connection by one that counts milliseconds."""
    connection.create_function("unixepoch", 1, _epoch_seconds)


def _epoch_seconds(_word: object) -> float:
    return time.time_ns() // 1_000_000 / 1000
