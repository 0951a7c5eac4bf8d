"""Decodes text files, packed or plain, complete or damaged."""

import codecs
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import unpack_gzip

# A million rows of `nsys stats -r cuda_gpu_trace` are 150 MB.
MAX_TEXT_BYTES = 256 * 2**20
# Longer than any row that a profiler writes, and than any of a bill with all its tags.
MAX_LINE_CHARACTERS = 2**20
# Twice the largest device trace seen so far; each line takes three microseconds.
MAX_LINES = 5_000_000

CUT_OFF = "the file is cut off: its end is missing"
BAD_ENCODING = "the file is not UTF-8 throughout: broken characters were replaced"

UTF_8, _UTF_16 = "utf-8", "utf-16"
# Excel writes these marks, and so do Windows shells if a tool's output is redirected to a file.
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, _UTF_16),
    (codecs.BOM_UTF16_BE, _UTF_16),
)
_MAX_MARK = len(codecs.BOM_UTF8)
_ADVICE = "save it as UTF-8, or as UTF-16 with a byte order mark"
# Databases and protocol buffers contain zero bytes from the start.
_BINARY_CHECK_BYTES = 1024


@dataclass(frozen=True, slots=True)
class TextFile:
    """The lines without line ends, and notes on damage."""

    lines: Sequence[str]
    notes: tuple[str, ...] = ()


def encoding_of(data: bytes) -> str:
    """Return the encoding that a byte order mark states, UTF-8 without one."""
    return next((name for mark, name in _ENCODINGS if data.startswith(mark)), UTF_8)


def decoded_text(data: bytes, name: str, *, error: Callable[[str], Exception]) -> str:
    """Return a file's text: UTF-8, or UTF-16 with a byte order mark.

    Raises `error` with the file's name and the line for anything else, and for a NUL.
    """
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as broken:
        line = broken.object[: broken.start].decode(encoding, errors="ignore").count("\n") + 1
        msg = f"{name}, line {line}, is not {_encoding_name(encoding)} text: {_ADVICE}"
        raise error(msg) from broken
    place = text.find("\0")
    if place >= 0:
        raise error(_nul(name, text.count("\n", 0, place) + 1))
    return text


def decoded_lines(path: Path, name: str, *, error: Callable[[str], Exception]) -> Iterator[str]:
    """Yield the lines of a file too large for `decoded_text`, with their ends; raise as it does.

    Several lines are decoded at once: the line of an error is the last one before the damage.
    """
    with path.open("rb") as file:
        encoding = encoding_of(file.read(_MAX_MARK))
    number = 0
    try:
        with path.open(encoding=encoding, newline="") as text:
            # Of a line without an end, no more than the limit is held.
            lines = iter(partial(text.readline, MAX_LINE_CHARACTERS + 1), "")
            for number, line in enumerate(lines, start=1):
                if "\0" in line:
                    raise error(_nul(name, number))
                yield line
    except UnicodeDecodeError as broken:
        msg = f"{name} is not {_encoding_name(encoding)} text below line {number}: {_ADVICE}"
        raise error(msg) from broken


def read_text(data: bytes, *, max_bytes: int = MAX_TEXT_BYTES) -> TextFile:
    """Return the lines of a profiler's text file, gzip-packed or plain, UTF-8 or UTF-16.

    Broken characters are replaced, and a note says so. Raises ProfileError if the file is binary or
    larger than the limit.
    """
    unpacked = unpack_gzip(data, max_bytes=max_bytes)
    notes = (CUT_OFF,) if unpacked.is_cut_off else ()
    encoding = encoding_of(unpacked.data)
    if encoding != _UTF_16 and b"\0" in unpacked.data[:_BINARY_CHECK_BYTES]:
        msg = "the file is binary: give the text that the tool prints or exports"
        raise ProfileError(msg)
    try:
        text = unpacked.data.decode(encoding)
    except UnicodeDecodeError:
        text = unpacked.data.decode(encoding, errors="replace")
        notes = (*notes, BAD_ENCODING)
    if text.count("\n") > MAX_LINES:
        msg = f"the file has more than {MAX_LINES} lines: record less"
        raise ProfileError(msg)
    # Not splitlines(), which also breaks at characters that names may contain.
    return TextFile([line.rstrip("\r") for line in text.split("\n")], notes)


def _encoding_name(encoding: str) -> str:
    return encoding.removesuffix("-sig").upper()


def _nul(name: str, line: int) -> str:
    return f"{name}, line {line}, has a NUL character, so it is not text: {_ADVICE}"
