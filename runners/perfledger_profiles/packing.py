"""Turn gzip-packed bytes into plain ones, as far as they are whole and within limits."""

import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import BinaryIO

from perfledger_profiles.errors import ProfileError

# Real logs and traces pack 14 to 35 times; a bomb reaches a thousand.
MAX_RATIO = 256
# Below this no ratio is suspicious: a short log of one repeated line packs very well.
RATIO_APPLIES_BYTES = 32 * 2**20

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib's number for "with a gzip header"
# Unpacks to 17 MB at most; what is lost where the data is damaged.
PIECE_BYTES = 16 * 2**10


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Plain bytes, and whether the packed file was damaged or ended before they did."""

    data: bytes
    is_cut_off: bool = False


def is_packed(data: bytes) -> bool:
    """Tell whether the bytes begin as a gzip file does."""
    return data.startswith(_GZIP)


def unpacked(data: bytes, *, max_bytes: int) -> Unpacked:
    """Return the plain bytes of a file, gzip-packed or not.

    Raises ProfileError when they are more than `max_bytes` or more than any real file packs into.
    """
    if not is_packed(data):
        _check_size(len(data), packed=len(data), max_bytes=max_bytes)
        return Unpacked(data)
    parts: list[bytes] = []
    size = 0
    for part in gunzip(BytesIO(data)):
        if part is None:
            return Unpacked(b"".join(parts), is_cut_off=True)
        size += len(part)
        _check_size(size, packed=len(data), max_bytes=max_bytes)
        parts.append(part)
    return Unpacked(b"".join(parts))


def unpacked_head(data: bytes, *, max_bytes: int) -> bytes:
    """Return the first `max_bytes` plain bytes of a file whose beginning this is."""
    if not is_packed(data):
        return data[:max_bytes]
    head = bytearray()
    for part in gunzip(BytesIO(data)):
        if part is None or len(head) >= max_bytes:
            break
        head += part
    return bytes(head[:max_bytes])


def gunzip(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the members' bytes piece by piece, and None where they are damaged or end early."""
    unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW)
    while packed := file.read(PIECE_BYTES):
        rest = packed
        while rest:
            if unpacker.eof:
                unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW)
            try:
                yield unpacker.decompress(rest)
            except zlib.error:
                yield None
                return
            rest = unpacker.unused_data.lstrip(b"\0")
    if not unpacker.eof:
        yield None


def gunzip_ahead(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield what `gunzip` does, while a thread of its own already unpacks the next piece.

    For readers that take long over a piece: zlib needs the interpreter's lock only between blocks.
    """
    pieces = gunzip(file)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(list, islice(pieces, 1))
        while found := coming.result():
            coming = thread.submit(list, islice(pieces, 1))
            yield from found


def _check_size(size: int, *, packed: int, max_bytes: int) -> None:
    if size > max_bytes:
        msg = f"the file is larger than {max_bytes} bytes: record less"
        raise ProfileError(msg)
    if size > max(RATIO_APPLIES_BYTES, MAX_RATIO * packed):
        msg = f"the file unpacks to more than {MAX_RATIO} times its size: not a profiler's file"
        raise ProfileError(msg)
