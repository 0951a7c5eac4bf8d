"""Describes the files of an export as a Data Package: https://specs.frictionlessdata.io."""

import msgspec

from perfledger_service.values.backups.manifest import ColumnKind
from perfledger_service.values.storage.export_tables import ExportColumn
from perfledger_service.values.storage.project_export import (
    ExportedTable,
    ExportFormat,
    ProjectExport,
)

FILE = "datapackage.json"  # the name by which other programs recognise a package
_TYPES = {
    ColumnKind.TEXT: "string",
    ColumnKind.INTEGER: "integer",
    ColumnKind.FLOAT: "number",
    ColumnKind.BOOLEAN: "boolean",
    ColumnKind.TIME: "datetime",
    ColumnKind.DATE: "date",
}
_PROFILES = {
    ExportFormat.CSV: "tabular-data-resource",
    ExportFormat.PARQUET: "data-resource",
}
_ESCAPED = (
    "In CSV, a text that begins with an apostrophe, a formula sign or a control character is "
    "preceded by one more apostrophe."
)


def data_package(export: ProjectExport) -> bytes:
    """Return the description of the package as JSON."""
    description = {
        "profile": "data-package",
        "name": "perfledger-export",
        "description": f"Times are UTC. {_ESCAPED}",
        "created": export.created_at.isoformat(),
        "perfledger_version": export.perfledger_version,
        "repositories": export.repositories,
        "resources": [_resource(one, export.file_format) for one in export.tables],
    }
    return msgspec.json.format(msgspec.json.encode(description)) + b"\n"


def _resource(exported: ExportedTable, file_format: ExportFormat) -> dict[str, object]:
    return {
        "profile": _PROFILES[file_format],
        "name": exported.table.name,
        "description": exported.table.meaning,
        "path": exported.file,
        "format": file_format.value,
        "encoding": "utf-8",
        "rows": exported.rows,
        "bytes": exported.bytes,
        "hash": f"sha256:{exported.sha256}",
        "schema": {
            "fields": [_field(column) for column in exported.table.columns],
            "missingValues": [""],
            "primaryKey": exported.table.key,
        },
    }


def _field(column: ExportColumn) -> dict[str, object]:
    field: dict[str, object] = {
        "name": column.name,
        "type": _TYPES[column.kind],
        "description": column.meaning,
    }
    if column.kind is ColumnKind.TIME:
        field["format"] = "any"  # the default format has whole seconds only
    if not column.is_optional and column.kind is not ColumnKind.TEXT:
        field["constraints"] = {"required": True}
    return field
