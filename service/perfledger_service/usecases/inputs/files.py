"""Reads the files that users name."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

from perfledger_profiles.parsing.text_file import decoded_text
from perfledger_service.errors import NotFoundError, PerfledgerError, TooLargeError, UsageError
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.packed_files import unpack

MAX_PATH = 4096  # characters of a path in an error: longer than any on Linux, in bytes


@dataclass(frozen=True, slots=True)
class NamedBytes:
    """Name and content of a file, read from disk or from the store.

    `path` is where the user said that it is, "" for a file of the store.
    """

    name: str
    data: bytes
    path: str = ""

    @property
    def text(self) -> str:
        """Return the content as text; raises UsageError."""
        return decoded_text(self.data, self.path or self.name, error=UsageError)


def read_named(path: Path, *, most_bytes: int) -> NamedBytes:
    """Read a file whole and unpacked, with its name.

    Raises NotFoundError, TooLargeError and UsageError.
    """
    data = read_bytes(path, most_bytes=most_bytes)
    content = unpack(data, str(path), most_bytes=most_bytes)
    return NamedBytes(path.name, content, path=str(path))


def read_bytes(path: Path, *, most_bytes: int) -> bytes:
    """Read a whole file; raises NotFoundError, TooLargeError and UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise unreadable_file(path, error) from error
    if len(data) > most_bytes:
        msg = f"{path} is larger than {most_bytes:,} bytes: split it, or export shorter periods"
        raise TooLargeError(msg)
    return data


def read_head(path: Path, count: int) -> bytes:
    """Read the first bytes of a file; raises NotFoundError and UsageError."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise unreadable_file(path, error) from error


def read_text(path: Path, *, most_bytes: int) -> str:
    """Read a text file; raises NotFoundError, TooLargeError and UsageError."""
    data = unpack(read_bytes(path, most_bytes=most_bytes), str(path), most_bytes=most_bytes)
    return NamedBytes(str(path), data).text


def size_of(path: Path) -> int:
    """Return a file's size in bytes; raises NotFoundError and UsageError."""
    try:
        return path.stat().st_size
    except OSError as error:
        raise unreadable_file(path, error) from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file of any size in hex; raises NotFoundError and UsageError."""
    try:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable_file(path, error) from error


def shown_path(path: Path) -> str:
    """Return a path as the user gave it, on one line, for an error."""
    return clean(str(path), limit=MAX_PATH)


@contextmanager
def errors_about(file: Path | NamedBytes) -> Generator[None]:
    """Make readers' errors name the file as the user did; translate other packages' errors.

    Readers know only the last part of its path, or nothing.
    """
    try:
        with translate_errors():
            yield
    except PerfledgerError as error:
        path = file if isinstance(file, Path) else Path(file.path or file.name)
        error.args = (_with_path(str(error), path),)
        raise


def _with_path(message: str, path: Path) -> str:
    """Return a message about a file with its path in place of its name, or before the message."""
    full_path, name = shown_path(path), re.escape(clean(path.name, limit=MAX_PATH))
    if full_path in message or str(path) in message:
        return message
    # Not part of another name, or of a path.
    text, count = re.subn(rf"(?<![\w./-]){name}(?![\w/-])", lambda _: full_path, message, count=1)
    return text if count else f"{full_path}: {message}"


def unreadable_file(path: Path, error: OSError) -> UsageError:
    """Return the error for a file that cannot be read: NotFoundError if it does not exist."""
    if isinstance(error, FileNotFoundError):
        return missing_file(path)
    if isinstance(error, IsADirectoryError):
        return UsageError(f"{shown_path(path)} is a folder: give a file")
    return UsageError(f"{shown_path(path)} cannot be read: {error.strerror}")


def missing_file(path: Path) -> NotFoundError:
    """Return the error for a file that does not exist."""
    return NotFoundError(f"there is no file {shown_path(path)}: check the path")
