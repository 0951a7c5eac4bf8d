"""Reads a backup, which may be truncated or forged; nothing in it is trusted before it is checked.

It is read as a stream. Nothing is written to a path that it names.
"""

import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import msgspec

from perfledger_service.errors import UsageError
from perfledger_service.store.maintenance.backup_rows import from_line
from perfledger_service.store.maintenance.backup_writer import MANIFEST, member_of
from perfledger_service.values.backups.manifest import (
    FORMAT,
    FORMAT_VERSION,
    BackupManifest,
    BackupTable,
)

MAX_MANIFEST_BYTES = 1024 * 1024
# A bundle of 32 MiB in base64 is a third larger, an imported file of 64 MiB as well.
MAX_ROW_BYTES = 128 * 1024 * 1024
ENCRYPTED = 0x1  # of a zip member's flags
DAMAGED = (BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)
_MANIFEST_DECODER = msgspec.json.Decoder(BackupManifest)


class BackupReader:
    """An open backup with its manifest."""

    def __init__(self, archive: ZipFile, manifest: BackupManifest) -> None:
        self._archive = archive
        self.manifest = manifest

    def rows(self, table: BackupTable) -> Iterator[tuple[tuple[object, ...], int]]:
        """Yield the rows of a table, each with the bytes of its line.

        Raises UsageError if they differ from the manifest; their digest is checked after the last
        one.
        """
        kinds = [column.kind for column in table.columns]
        digest, rows, size = sha256(), 0, 0
        for line in self._lines(table):
            digest.update(line)
            rows, size = rows + 1, size + len(line)
            if rows > table.rows or size > table.bytes:
                break
            yield from_line(line, kinds), len(line)
        if (rows, size, digest.hexdigest()) != (table.rows, table.bytes, table.sha256):
            msg = f"table {table.name} is not as the manifest has it: the backup was changed"
            raise UsageError(msg)

    def _lines(self, table: BackupTable) -> Iterator[bytes]:
        try:
            with self._archive.open(member_of(table.name)) as member:
                while line := member.readline(MAX_ROW_BYTES + 1):
                    if len(line) > MAX_ROW_BYTES:
                        msg = f"table {table.name} has a row of more than {MAX_ROW_BYTES} bytes"
                        raise UsageError(msg)
                    yield line
        except DAMAGED as error:
            msg = f"table {table.name} is damaged in the backup ({error}): use another backup"
            raise UsageError(msg) from None


@contextmanager
def open_backup(path: Path) -> Generator[BackupReader]:
    """Open a backup; raise UsageError unless its manifest and members fit each other."""
    try:
        archive = ZipFile(path)
    except DAMAGED as error:
        reason = getattr(error, "strerror", None) or "it is not a backup, or was cut off"
        msg = f"cannot read {path}: {reason}"
        raise UsageError(msg) from None
    with archive:
        manifest = _manifest(archive)
        members = sorted(one.filename for one in archive.infolist())
        if members != sorted([MANIFEST, *(member_of(one.name) for one in manifest.tables)]):
            msg = f"{path} has other members than its manifest: the backup was changed"
            raise UsageError(msg)
        if any(
            one.flag_bits & ENCRYPTED or one.compress_type not in {0, ZIP_DEFLATED}
            for one in archive.infolist()
        ):
            msg = f"{path} has encrypted members, or of a compression that backups do not use"
            raise UsageError(msg)
        yield BackupReader(archive, manifest)


def verify_backup(path: Path) -> BackupManifest:
    """Read a whole backup and return its manifest; raise UsageError if it is damaged."""
    with open_backup(path) as backup:
        for table in backup.manifest.tables:
            for _ in backup.rows(table):
                pass
        return backup.manifest


def _manifest(archive: ZipFile) -> BackupManifest:
    try:
        with archive.open(MANIFEST) as member:
            manifest = _MANIFEST_DECODER.decode(_manifest_bytes(member))
    except KeyError:
        msg = "this is not a backup: it has no manifest"
        raise UsageError(msg) from None
    except (*DAMAGED, ValueError, RuntimeError):  # msgspec's are ValueErrors; of a password
        msg = "the backup's manifest cannot be read: use another backup"
        raise UsageError(msg) from None
    if (manifest.format, manifest.format_version) != (FORMAT, FORMAT_VERSION):
        msg = "the backup is of another format: restore it with the version that made it"
        raise UsageError(msg)
    return manifest


def _manifest_bytes(member: IO[bytes]) -> bytes:
    """Return a manifest's bytes; raise ValueError for too many."""
    content = member.read(MAX_MANIFEST_BYTES + 1)
    if len(content) > MAX_MANIFEST_BYTES:
        msg = "too large"
        raise ValueError(msg)
    return content
