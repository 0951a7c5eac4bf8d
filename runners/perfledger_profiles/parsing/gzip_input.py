"""Unpacks gzip data within limits, as far as it is intact."""

import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import BinaryIO

from perfledger_profiles.parsing.errors import ProfileError

# Real logs and traces shrink by a factor of 14 to 35; a bomb reaches a thousand.
MAX_RATIO = 256
# Below this size no ratio is suspicious: a short log of one repeated line packs very well.
RATIO_APPLIES_BYTES = 32 * 2**20

GZIP_MAGIC = b"\x1f\x8b"
GZIP_WINDOW = 16 + zlib.MAX_WBITS  # with the header of gzip
# Unpacks to at most 17 MB, which is lost if the data is damaged.
PIECE_BYTES = 16 * 2**10


@dataclass(frozen=True, slots=True)
class UnpackedFile:
    """Unpacked bytes, and whether the packed file is damaged or ends early."""

    data: bytes
    is_cut_off: bool = False


def is_gzip(data: bytes) -> bool:
    """Return whether the bytes begin with the gzip signature."""
    return data.startswith(GZIP_MAGIC)


def unpack_gzip(data: bytes, *, max_bytes: int) -> UnpackedFile:
    """Return the bytes of a file, unpacked if it is gzip-packed.

    Raises ProfileError above `max_bytes`, or above the packing ratio of real files.
    """
    if not is_gzip(data):
        _check_size(len(data), packed=len(data), max_bytes=max_bytes)
        return UnpackedFile(data)
    parts: list[bytes] = []
    size = 0
    for part in gunzip(BytesIO(data)):
        if part is None:
            return UnpackedFile(b"".join(parts), is_cut_off=True)
        size += len(part)
        _check_size(size, packed=len(data), max_bytes=max_bytes)
        parts.append(part)
    return UnpackedFile(b"".join(parts))


def unpack_gzip_head(data: bytes, *, max_bytes: int) -> bytes:
    """Return up to `max_bytes` unpacked bytes of a file's beginning."""
    if not is_gzip(data):
        return data[:max_bytes]
    head = bytearray()
    for part in gunzip(BytesIO(data)):
        if part is None or len(head) >= max_bytes:
            break
        head += part
    return bytes(head[:max_bytes])


def gunzip(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the members' bytes piece by piece, with None where they are damaged or end early."""
    unpacker = zlib.decompressobj(wbits=GZIP_WINDOW)
    while packed := file.read(PIECE_BYTES):
        rest = packed
        while rest:
            if unpacker.eof:
                unpacker = zlib.decompressobj(wbits=GZIP_WINDOW)
            try:
                yield unpacker.decompress(rest)
            except zlib.error:
                yield None
                return
            rest = unpacker.unused_data.lstrip(b"\0")
    if not unpacker.eof:
        yield None


def gunzip_ahead(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield what `gunzip` yields, while another thread already unpacks the next piece.

    For readers that spend long on a piece: zlib needs the interpreter's lock only between blocks.
    """
    pieces = gunzip(file)
    with ThreadPoolExecutor(1) as thread:
        pending = thread.submit(list, islice(pieces, 1))
        while batch := pending.result():
            pending = thread.submit(list, islice(pieces, 1))
            yield from batch


def _check_size(size: int, *, packed: int, max_bytes: int) -> None:
    if size > max_bytes:
        msg = f"the file is larger than {max_bytes} bytes: record less"
        raise ProfileError(msg)
    if size > max(RATIO_APPLIES_BYTES, MAX_RATIO * packed):
        msg = f"the file unpacks to more than {MAX_RATIO} times its size: no profiler writes that"
        raise ProfileError(msg)
