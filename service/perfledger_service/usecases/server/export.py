"""Exports projects' measurements to files that other programs read."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from hashlib import file_digest
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from sqlalchemy import Engine
from sqlmodel import Session

from perfledger_service.errors import UsageError
from perfledger_service.rendering.exports.csv_table import csv_table
from perfledger_service.rendering.exports.data_package import FILE, data_package
from perfledger_service.rendering.exports.parquet_table import (
    parquet_table,
    require_parquet,
)
from perfledger_service.store.database import read_snapshot
from perfledger_service.store.projects import Project, project_named, projects
from perfledger_service.usecases.server.export_rows import ExportRow, count_progress, read_rows
from perfledger_service.values.backups.manifest import RowWatcher
from perfledger_service.values.storage.export_tables import EXPORT_TABLES, ExportTable
from perfledger_service.values.storage.project_export import (
    ExportedTable,
    ExportFormat,
    ProjectExport,
)

ROWS_AT_A_TIME = 10_000  # rows in memory; in Parquet, a row group
_TableWriter = Callable[
    [IO[bytes], ExportTable], AbstractContextManager[Callable[[Sequence[ExportRow]], None]]
]
_WRITERS: dict[ExportFormat, _TableWriter] = {
    ExportFormat.CSV: csv_table,
    ExportFormat.PARQUET: parquet_table,
}


def export_projects(
    engine: Engine,
    folder: Path,
    *,
    repositories: Sequence[str] = (),
    file_format: ExportFormat,
    watcher: RowWatcher,
    now: datetime,
) -> ProjectExport:
    """Write projects, all if none is named, to a new folder; the service may run meanwhile.

    The folder is the user's own, and gets its name once all is written; a failure leaves nothing
    behind. Raises UsageError for a name that exists, for a folder that cannot be written and for
    Parquet without pyarrow, and NotFoundError for no such project.
    """
    if os.path.lexists(folder):
        msg = f"{folder} exists: name a new folder, such as one with today's date"
        raise UsageError(msg)
    if file_format is ExportFormat.PARQUET:
        require_parquet()
    try:
        part = Path(mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
        try:
            with read_snapshot(engine) as connection, Session(connection) as session:
                export = _write_tables(
                    session, part, repositories, file_format, watcher=watcher, now=now
                )
            (part / FILE).write_bytes(data_package(export))
            part.rename(folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    except OSError as error:
        msg = f"cannot write {folder}: {error.strerror or error}"
        raise UsageError(msg) from None
    return export


def _write_tables(
    session: Session,
    folder: Path,
    repositories: Sequence[str],
    file_format: ExportFormat,
    *,
    watcher: RowWatcher,
    now: datetime,
) -> ProjectExport:
    named = {one.id: one for one in (project_named(session, name) for name in repositories)}
    chosen = tuple(named.values()) if repositories else projects(session)
    return ProjectExport(
        created_at=now,
        perfledger_version=version("perfledger"),
        file_format=file_format,
        repositories=tuple(project.repository for project in chosen),
        tables=tuple(
            _write_table(session, folder, chosen, table, file_format, watcher=watcher)
            for table in EXPORT_TABLES
        ),
    )


def _write_table(
    session: Session,
    folder: Path,
    chosen: Sequence[Project],
    table: ExportTable,
    file_format: ExportFormat,
    *,
    watcher: RowWatcher,
) -> ExportedTable:
    watcher.began(
        table.name, rows=sum(count_progress(session, project, table) for project in chosen)
    )
    rows = (
        row for project in chosen for row in read_rows(session, project, table, watcher.advanced)
    )
    path = folder / f"{table.name}.{file_format}"
    count = 0
    with path.open("xb") as file:
        with _WRITERS[file_format](file, table) as write:
            for batch in _batches(rows):
                write(batch)
                count += len(batch)
        file.flush()
        os.fsync(file.fileno())
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return ExportedTable(
        table=table, file=path.name, rows=count, bytes=path.stat().st_size, sha256=digest
    )


def _batches(rows: Iterator[ExportRow]) -> Iterator[list[ExportRow]]:
    while batch := list(islice(rows, ROWS_AT_A_TIME)):
        yield batch
