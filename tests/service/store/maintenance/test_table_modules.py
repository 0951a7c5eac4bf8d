"""A program that imports nothing else knows all tables: a backup has each of them."""

import subprocess
import sys

from sqlalchemy import inspect

PROGRAM = """
from perfledger_service.store.maintenance.table_modules import METADATA
print(*sorted(METADATA.tables))
"""


def test_the_tables_that_a_new_program_knows_are_those_of_a_database(engine):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, stdout=subprocess.PIPE, text=True
    )

    tables = set(inspect(engine).get_table_names()) - {"alembic_version"}
    assert set(done.stdout.split()) == tables
    assert {"canary_run", "merge_group"} <= tables
