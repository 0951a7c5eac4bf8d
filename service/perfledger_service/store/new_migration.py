"""Writes the migration that a change of the tables needs: `make migration NAME="…"`.

It sees the tables of the modules in `store/maintenance/table_modules.py`.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from perfledger_service.store.database import open_engine
from perfledger_service.store.tables import StoreRow
from perfledger_service.store.upgrade import alembic_config, upgrade

USAGE = 'a migration needs a name that says what it does: make migration NAME="owners of uploads"'
NO_DIFFERENCE = "the tables are those of the last migration: write what this one does by hand"


def main(words: Sequence[str]) -> None:
    """Write a migration with a name of these words."""
    name = " ".join(words).strip()
    if re.search(r"\w", name) is None:
        sys.exit(USAGE)
    if not write_migration(name):
        sys.stdout.write(f"{NO_DIFFERENCE}\n")


def write_migration(name: str) -> bool:
    """Write the migration after the last one, and return whether it changes any table.

    Alembic compares the tables in the code with a new SQLite database built by all migrations. It
    sees a renamed table or column as one dropped and one added.
    """
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'empty.db'}"
        upgrade(url)
        engine = open_engine(url)
        with engine.connect() as connection:
            config = alembic_config(connection)
            last = ScriptDirectory.from_config(config).get_current_head()
            number = f"{int(last or 0) + 1:04}"
            context = MigrationContext.configure(connection)
            has_changes = bool(compare_metadata(context, StoreRow.metadata))
            message = name[0].upper() + name[1:]
            command.revision(config, message, autogenerate=True, rev_id=number)
        engine.dispose()
    return has_changes


if __name__ == "__main__":
    main(sys.argv[1:])
