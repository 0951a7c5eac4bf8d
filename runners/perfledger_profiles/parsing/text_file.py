"""Reads the lines of a text file, packed or plain, complete or damaged."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import unpack_gzip

# A million rows of `nsys stats -r cuda_gpu_trace` are 150 MB.
MAX_TEXT_BYTES = 256 * 2**20
# Longer than any row that a profiler writes.
MAX_LINE_CHARACTERS = 2**20
# Twice the largest device trace seen so far; each line takes three microseconds.
MAX_LINES = 5_000_000

CUT_OFF = "the file is cut off: its end is missing"
BAD_ENCODING = "the file is not UTF-8 throughout: broken characters were replaced"

# Windows shells write UTF-16 if a tool's output is redirected to a file.
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Databases and protocol buffers contain zero bytes from the start.
_BINARY_CHECK_BYTES = 1024


@dataclass(frozen=True, slots=True)
class TextFile:
    """The lines without line ends, and notes on damage."""

    lines: Sequence[str]
    notes: tuple[str, ...] = ()


def read_text(data: bytes, *, max_bytes: int = MAX_TEXT_BYTES) -> TextFile:
    """Return the lines of a text file, gzip-packed or plain, UTF-8 or UTF-16.

    Raises ProfileError if it is binary or larger than the limit.
    """
    unpacked = unpack_gzip(data, max_bytes=max_bytes)
    notes = (CUT_OFF,) if unpacked.is_cut_off else ()
    encoding = next((name for mark, name in _ENCODINGS if unpacked.data.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in unpacked.data[:_BINARY_CHECK_BYTES]:
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
