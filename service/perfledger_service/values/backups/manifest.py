"""Describes a backup of the service's database."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

FORMAT = "perfledger-backup"
FORMAT_VERSION = 1


class ColumnKind(StrEnum):
    """Kind of a column's values, the same on every database."""

    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TEXT = "text"
    TIME = "time"
    DATE = "date"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupColumn:
    """A column of a table, in the order of its rows' values."""

    name: str
    kind: ColumnKind


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupTable:
    """A table with the size and the digest of its rows, one per line."""

    name: str
    columns: tuple[BackupColumn, ...]
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupManifest:
    """A backup's versions and tables, in an order in which they can be filled."""

    format: str
    format_version: int
    perfledger_version: str
    schema: str  # the revision of the tables
    database: str  # of which it was made: sqlite or postgresql
    created_at: datetime
    tables: tuple[BackupTable, ...]

    @property
    def rows(self) -> int:
        """Return the number of rows of all tables."""
        return sum(table.rows for table in self.tables)

    @property
    def bytes(self) -> int:
        """Return the size of all rows before compression."""
        return sum(table.bytes for table in self.tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredBackup:
    """A restored backup, and how many of its uploads are not posted yet."""

    manifest: BackupManifest
    unfinished_uploads: int


class RowWatcher(Protocol):
    """Progress display of a backup or a restoration."""

    def began(self, table: str, *, rows: int) -> None:
        """Show the next table with the number of its rows."""
        ...

    def advanced(self, rows: int) -> None:
        """Show that some more rows are done."""
        ...
