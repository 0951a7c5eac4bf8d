"""Writes the service's database to a backup file, and verifies the file by reading it."""

import os
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile

from sqlalchemy import Engine

from perfledger_service.errors import UsageError
from perfledger_service.store.maintenance.backup_reader import verify_backup
from perfledger_service.store.maintenance.backup_writer import write_backup
from perfledger_service.values.backups.manifest import BackupManifest, RowWatcher


def back_up(engine: Engine, path: Path, *, watcher: RowWatcher, now: datetime) -> BackupManifest:
    """Write a backup that only its owner may read; the service may run meanwhile.

    Raises UsageError for a file that exists or cannot be written, and leaves nothing behind then.
    """
    if path.exists():
        msg = f"{path} exists: name a new file, such as one with today's date"
        raise UsageError(msg)
    try:
        with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            part = Path(file.name)
            try:
                write_backup(engine, file, watcher=watcher, now=now)
                file.flush()
                os.fsync(file.fileno())
                manifest = verify_backup(part)
                part.rename(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror}"
        raise UsageError(msg) from None
    return manifest
