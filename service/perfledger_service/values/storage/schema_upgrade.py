"""Holds the versions of the database's tables before and after an upgrade."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaUpgrade:
    """The revision of the tables, and the one before; None: there were no tables."""

    schema: str
    former_schema: str | None
