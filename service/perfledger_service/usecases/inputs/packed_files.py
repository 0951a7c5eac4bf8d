"""Unpacks logs that were compressed with gzip or zip, or written in UTF-16."""

import zlib
from io import BytesIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from perfledger_profiles.parsing.gzip_input import GZIP_MAGIC, GZIP_WINDOW
from perfledger_profiles.parsing.text_file import UTF_8, decoded_text, encoding_of
from perfledger_service.errors import TooLargeError, UsageError
from perfledger_service.usecases.inputs.table_columns import quote_names

_ZIP = b"PK\x03\x04"
_HIDDEN = ("__MACOSX/", ".")  # files that macOS adds to an archive


def unpack(data: bytes, name: str, *, most_bytes: int) -> bytes:
    """Return a file's content, decompressed, and as `plain_utf_8` returns it.

    Raises UsageError for a damaged file and for an archive of several files, TooLargeError for more
    than `most_bytes`.
    """
    if data.startswith(GZIP_MAGIC):
        data = _gunzip(data, name, most_bytes)
    elif data.startswith(_ZIP):
        data = _unzip(data, name, most_bytes)
    return plain_utf_8(data, name)


def plain_utf_8(data: bytes, name: str) -> bytes:
    """Return data with a byte order mark as UTF-8 without it; raises UsageError."""
    is_plain = encoding_of(data) == UTF_8
    return data if is_plain else decoded_text(data, name, error=UsageError).encode()


def _gunzip(data: bytes, name: str, most_bytes: int) -> bytes:
    """Unpack all members of a gzip file; several may follow each other."""
    parts: list[bytes] = []
    size = 0
    try:
        while data.startswith(GZIP_MAGIC):
            member = zlib.decompressobj(GZIP_WINDOW)
            part = member.decompress(data, most_bytes + 1 - size)
            size += len(part)
            if size > most_bytes:
                raise _too_large(name, most_bytes)
            if not member.eof:
                msg = f"{name} is a gzip file that ends early: download it again"
                raise UsageError(msg)
            parts.append(part)
            data = member.unused_data
    except zlib.error as error:
        msg = f"{name} is a damaged gzip file: {error}"
        raise UsageError(msg) from error
    return b"".join(parts)


def _unzip(data: bytes, name: str, most_bytes: int) -> bytes:
    """Unpack the only file of an archive."""
    try:
        archive = ZipFile(BytesIO(data))
        with archive.open(_only_file(archive.infolist(), name)) as file:
            content = file.read(most_bytes + 1)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        msg = f"{name} is a zip file that cannot be unpacked: {str(error)[:200]}"
        raise UsageError(msg) from error
    if len(content) > most_bytes:
        raise _too_large(name, most_bytes)
    return content


def _only_file(entries: list[ZipInfo], name: str) -> ZipInfo:
    files = [
        entry for entry in entries if not entry.is_dir() and not entry.filename.startswith(_HIDDEN)
    ]
    if len(files) != 1:
        names = quote_names(entry.filename for entry in files)
        msg = f"{name} has {len(files)} files ({names}): unpack it and give one"
        raise UsageError(msg)
    return files[0]


def _too_large(name: str, most_bytes: int) -> TooLargeError:
    msg = f"{name} has more than {most_bytes:,} bytes unpacked: split it, or export shorter periods"
    return TooLargeError(msg)
