"""Presents the files that an export wrote."""

from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Preformatted,
    figure,
    name,
    table,
)
from perfledger_service.rendering.layout.number_format import byte_count, quantity
from perfledger_service.values.storage.project_export import ExportedTable, ProjectExport

_COLUMNS: tuple[Column[ExportedTable], ...] = (
    name("table", "table", lambda row: row.table.name),
    name("file", "file", lambda row: row.file),
    figure("rows", "rows", lambda row: row.rows),
    figure("bytes", "size", lambda row: row.bytes, byte_count),
    name("sha256", "SHA-256", lambda row: row.sha256, show=lambda row: row.sha256[:12]),
)


def export_document(export: ProjectExport, *, path: str) -> Document:
    """Return an export's files with their sizes."""
    rows = quantity(sum(one.rows for one in export.tables), "row")
    projects = quantity(len(export.repositories), "project")
    return Document(
        name="perfledger-export",
        facts={
            "folder": path,
            "file_format": export.file_format,
            "repositories": export.repositories,
            "created_at": export.created_at.isoformat(),
        },
        blocks=(
            Preformatted(f"{path} has {rows} of {projects}."),
            table(_COLUMNS, export.tables, key="tables"),
        ),
    )
