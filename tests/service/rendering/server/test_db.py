"""What an upgrade of the database prints."""

import pytest

from perfledger_service.rendering.layout.writers import plain_lines, to_terminal
from perfledger_service.rendering.server.db import upgrade_document
from perfledger_service.values.storage.schema_upgrade import SchemaUpgrade


@pytest.mark.parametrize(
    ("former", "sentence"),
    [
        (None, "The database is new, with schema 0036."),
        ("0034", "The database is upgraded from schema 0034 to 0036."),
        ("0036", "The database is up to date, with schema 0036."),
    ],
)
def test_an_upgrade_names_the_schema_before_it_and_after_it(former, sentence):
    upgrade = SchemaUpgrade(schema="0036", former_schema=former)

    assert plain_lines(to_terminal(upgrade_document(upgrade))) == f"{sentence}\n"
