"""Reads what a workflow kept of a job: exit status, log and bundle, in an artifact's archive.

The job ran a change's code on its machine, so the archive may contain anything.
"""

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass
from typing import IO

from perfledger_runners.launchers.github_actions.workflow_inputs import BUNDLE_FILE
from perfledger_runners.launchers.launcher import LauncherError

LOG_FILE, STATUS_FILE = "job.log", "exit_status"
MAX_ARCHIVE_BYTES = 72 * 2**20  # a bundle may have 64 MiB
MAX_BUNDLE_BYTES = 64 * 2**20
MAX_LOG_BYTES = 2 * 2**20  # of its end
MAX_UNPACKED_LOG_BYTES = 256 * 2**20  # as for a local job
MAX_STATUS_BYTES = 100
MAX_STATUS = 255
MAX_ENTRIES = 1000  # a job writes four
_CHUNK_BYTES = 2**20
_ENTRY = b"PK\x01\x02"  # begins each entry of an archive's directory
# GitHub's are deflated; other methods may need as much memory as they claim.
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, OverflowError, RuntimeError, ValueError),
)


class JobArchiveError(LauncherError):
    """An archive that was not written by one of our jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobArchive:
    """What a job left; without an exit status it did not run to its end.

    A negative exit status is the number of the signal that ended it.
    """

    exit_status: int | None = None
    log: bytes = b""
    bundle: bytes | None = None


def read_job_archive(data: bytes) -> JobArchive:
    """Return what is in an archive; raise JobArchiveError if it is damaged or too large.

    Files are taken by name; anything else is ignored.
    """
    if data.count(_ENTRY) > MAX_ENTRIES:  # each file before it takes a kilobyte of memory
        msg = f"the artifact of its run has more than {MAX_ENTRIES} files"
        raise JobArchiveError(msg)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            status = _file(archive, STATUS_FILE, MAX_STATUS_BYTES)
            return JobArchive(
                exit_status=None if status is None else _exit_status(status),
                log=_end_of_log(archive),
                bundle=_file(archive, BUNDLE_FILE, MAX_BUNDLE_BYTES),
            )
    except _DAMAGES as error:
        msg = f"the artifact of its run is damaged: {error}"
        raise JobArchiveError(msg) from error


def _file(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes | None:
    if name not in archive.namelist():
        return None
    with _open_member(archive, name) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        msg = f"{name} in the artifact of its run has more than {max_bytes} bytes"
        raise JobArchiveError(msg)
    return data


def _end_of_log(archive: zipfile.ZipFile) -> bytes:
    if LOG_FILE not in archive.namelist():
        return b""
    end, unpacked = b"", 0
    with _open_member(archive, LOG_FILE) as file:
        while chunk := file.read(_CHUNK_BYTES):
            unpacked += len(chunk)
            if unpacked > MAX_UNPACKED_LOG_BYTES:
                break
            end = (end + chunk)[-MAX_LOG_BYTES:]
    return end


def _open_member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    if archive.getinfo(name).compress_type not in _METHODS:
        msg = f"{name} in the artifact of its run is compressed in a way that GitHub does not use"
        raise JobArchiveError(msg)
    return archive.open(name)


def _exit_status(data: bytes) -> int:
    text = data.decode(errors="replace").strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and int(digits) <= MAX_STATUS):
        msg = (
            f"{STATUS_FILE} in the artifact of its run is {text[:40]!r}, which is not an exit "
            "status"
        )
        raise JobArchiveError(msg)
    return int(text)
