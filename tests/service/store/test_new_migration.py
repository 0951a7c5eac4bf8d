"""Migrations written in a copy of the service whose tables were changed."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import perfledger_service
from perfledger_service.store.new_migration import NO_DIFFERENCE, USAGE, main

COLUMNS = """    headline: str = ""
    owner: str | None = Field(default=None, index=True)
    seen_at: datetime | None = Field(default=None, sa_type=UtcTime)
"""


@pytest.fixture
def run_in_copy(tmp_path):
    """Return a function that runs Python with a copy of the service with two more columns."""
    source = Path(perfledger_service.__file__).parent
    copy = shutil.copytree(
        source, tmp_path / source.name, ignore=shutil.ignore_patterns("__pycache__")
    )
    tables = copy / "store" / "tables.py"
    text = tables.read_text(encoding="utf-8")
    tables.write_text(text.replace('    headline: str = ""\n', COLUMNS, 1), encoding="utf-8")

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    return run


@pytest.mark.slow(ci_only=True)
def test_a_written_migration_makes_the_tables_of_the_code(tmp_path, run_in_copy):
    module = "perfledger_service.store.new_migration"
    versions = tmp_path / "perfledger_service" / "store" / "migrations" / "versions"
    number = len(list(versions.glob("*.py")))

    first = run_in_copy("-m", module, "the uploads' owners")
    second = run_in_copy("-m", module, "nothing more")
    upgrade = "from perfledger_service.store.upgrade import upgrade; upgrade('sqlite:///new.db')"
    run_in_copy("-c", upgrade)

    written = versions / f"{number + 1:04}_the_uploads_owners.py"
    assert f"Revision: {number + 1:04}, after {number:04}." in written.read_text(encoding="utf-8")
    assert NO_DIFFERENCE not in first
    assert NO_DIFFERENCE in second
    assert (versions / f"{number + 2:04}_nothing_more.py").exists()
    with closing(sqlite3.connect(tmp_path / "new.db")) as database:
        columns = {
            name for (name,) in database.execute("select name from pragma_table_info('upload')")
        }
    assert {"owner", "seen_at"} < columns


def test_a_migration_without_a_name_is_not_written():
    with pytest.raises(SystemExit, match="needs a name") as stop:
        main([" "])

    assert stop.value.code == USAGE
