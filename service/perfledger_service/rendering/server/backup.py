"""Presents the contents of a backup."""

from collections.abc import Sequence

from perfledger_service.rendering.layout.document import (
    Block,
    Column,
    Document,
    Preformatted,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.backups.manifest import BackupManifest, BackupTable

_COLUMNS: tuple[Column[BackupTable], ...] = (
    name("table", "table", lambda row: row.name),
    figure("rows", "rows", lambda row: row.rows),
    figure("bytes", "bytes", lambda row: row.bytes),
    name("sha256", "SHA-256", lambda row: row.sha256, show=lambda row: row.sha256[:12]),
)


def backup_document(manifest: BackupManifest, *, path: str) -> Document:
    """Return a new backup's tables with their sizes before compression."""
    sentence = f"{path} has {quantity(manifest.rows, 'row')}, and was read back."
    return Document(
        name="perfledger-backup",
        facts={"file": path} | manifest_facts(manifest),
        blocks=(Preformatted(sentence), *backup_tables(manifest.tables)),
    )


def manifest_facts(manifest: BackupManifest) -> dict[str, object]:
    """Return a backup's versions for JSON."""
    return {
        "schema": manifest.schema,
        "database": manifest.database,
        "perfledger_version": manifest.perfledger_version,
        "created_at": manifest.created_at.isoformat(),
    }


def backup_tables(tables: Sequence[BackupTable]) -> tuple[Block, ...]:
    """Return the tables that have rows."""
    return (table(_COLUMNS, [one for one in tables if one.rows], key="tables"),)
