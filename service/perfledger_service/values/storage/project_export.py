"""Holds what an export of projects wrote."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger_service.values.storage.export_tables import ExportTable


class ExportFormat(StrEnum):
    """The format of an export's tables; it is also the ending of their files."""

    CSV = "csv"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTable:
    """A table's file with its rows, its size and its digest."""

    table: ExportTable
    file: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectExport:
    """The tables of projects as they were at one moment."""

    created_at: datetime
    perfledger_version: str
    file_format: ExportFormat
    repositories: tuple[str, ...]
    tables: tuple[ExportedTable, ...]
