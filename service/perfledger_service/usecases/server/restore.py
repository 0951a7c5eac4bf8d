"""Restores a backup file into an empty database."""

import shutil
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError, ProgrammingError

from perfledger_service.errors import ConflictError, SettingsError, UsageError
from perfledger_service.store.database import open_engine, read_session
from perfledger_service.store.maintenance.backup_loader import load_backup
from perfledger_service.store.maintenance.backup_reader import BackupReader, open_backup
from perfledger_service.store.upgrade import open_current
from perfledger_service.store.uploads import unfinished_uploads
from perfledger_service.values.backups.manifest import (
    BackupManifest,
    RestoredBackup,
    RowWatcher,
)
from perfledger_service.workflow_database import workflow_tables

# A database is about as large as its rows, and so is its log until the transaction ends.
DISK_FACTOR = 2


def restore(url: str, path: Path, *, watcher: RowWatcher) -> RestoredBackup:
    """Fill the database at a SQLAlchemy URL from a backup of either database.

    Raises ConflictError unless database and workflow tables are empty, and UsageError for a backup
    that is damaged or does not fit; then the database stays as it was.
    """
    open_engine(url).dispose()  # raises for an invalid URL
    with open_backup(path) as backup:
        try:
            _fill(url, backup, watcher)
        except (OperationalError, ProgrammingError) as error:
            remedy = (
                "name one in PERFLEDGER_DATABASE_URL that answers and has space, with a user who "
                "may create tables and write to them"
            )
            reason = str(error.orig).partition("\n")[0]
            msg = f"the database cannot be filled: {reason}; {remedy}"
            raise SettingsError(msg) from None
        manifest = backup.manifest
    with open_current(url) as engine, read_session(engine) as session:
        number = len(unfinished_uploads(session))
    return RestoredBackup(manifest=manifest, unfinished_uploads=number)


def _fill(url: str, backup: BackupReader, watcher: RowWatcher) -> None:
    """Fill a database; after a failure, a SQLite file that is new is removed."""
    if database := workflow_tables(url):
        msg = f"the workflow's tables are there ({database}): name a new database"
        raise ConflictError(msg)
    file = _sqlite_file(url)
    if file is None:
        load_backup(url, backup, watcher=watcher)
        return
    _check_space(file, backup.manifest)
    is_new = not file.exists()
    try:
        load_backup(url, backup, watcher=watcher)
    except BaseException:
        if is_new:
            _remove(file)
        raise


def _sqlite_file(url: str) -> Path | None:
    parsed = make_url(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    return Path(parsed.database) if is_sqlite and parsed.database else None


def _check_space(file: Path, manifest: BackupManifest) -> None:
    """Raise UsageError if, by the manifest, the rows need more space than the disk has."""
    try:
        free = shutil.disk_usage(file.parent).free
    except OSError as error:
        msg = f"cannot create {file}: {error.strerror}"
        raise UsageError(msg) from None
    if free < DISK_FACTOR * manifest.bytes:
        needed = DISK_FACTOR * manifest.bytes
        msg = f"the disk of {file} has {free:,} bytes free and the backup needs {needed:,}"
        raise UsageError(msg)


def _remove(file: Path) -> None:
    """Remove a SQLite file that a failure left empty, with its log."""
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
