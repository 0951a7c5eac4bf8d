"""Presents an upgrade of the database."""

from perfledger_service.rendering.layout.document import Document, fact_document
from perfledger_service.values.storage.schema_upgrade import SchemaUpgrade


def upgrade_document(upgrade: SchemaUpgrade) -> Document:
    """Return the version of the database's tables, and the one before an upgrade."""
    if upgrade.former_schema == upgrade.schema:
        sentence = f"The database is up to date, with schema {upgrade.schema}."
    elif upgrade.former_schema is None:
        sentence = f"The database is new, with schema {upgrade.schema}."
    else:
        sentence = (
            f"The database is upgraded from schema {upgrade.former_schema} to {upgrade.schema}."
        )
    return fact_document(
        "perfledger-schema",
        {"schema": upgrade.schema, "former_schema": upgrade.former_schema},
        sentence,
    )
