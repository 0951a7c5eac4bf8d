"""Opens profilers' SQLite databases, which are untrusted, read-only and in place."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

MAX_TEXT_BYTES = 2**20
# Instructions of SQLite's virtual machine between two checks of their number.
STEPS_AT_ONCE = 1_000_000


def open_database(path: Path, *, most_steps: int) -> sqlite3.Connection:
    """Open a database; all its queries may take `most_steps` steps of SQLite's virtual machine.

    Text that is not UTF-8 is replaced. A query beyond a limit raises sqlite3.Error.
    """
    address = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES)
    connection.text_factory = _text
    rounds = iter(range(most_steps // STEPS_AT_ONCE))
    connection.set_progress_handler(lambda: next(rounds, None) is None, STEPS_AT_ONCE)
    return connection


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
