"""Turn the bytes of a text file, packed or damaged or neither, into its lines."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from perfledger_profiles.errors import ProfileError
from perfledger_profiles.packing import unpacked

# A million rows of `nsys stats -r cuda_gpu_trace` are 150 MB.
MAX_TEXT_BYTES = 256 * 2**20
# Longer than any row of a profiler; what is longer is no row.
MAX_LINE_CHARACTERS = 2**20
# Twice the largest device trace that was seen; each line costs three microseconds.
MAX_LINES = 5_000_000

CUT_OFF = "the file is cut off: what followed is missing"
BAD_ENCODING = "the file is not UTF-8 throughout: broken characters were replaced"

# Windows shells write UTF-16 when the output of a tool is redirected into a file.
_ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Enough to tell: the files of databases and protocol buffers have zero bytes from the start.
_BINARY_CHECK_BYTES = 1024


@dataclass(frozen=True, slots=True)
class TextFile:
    """The lines without their ends, and what was wrong with the file in words."""

    lines: Sequence[str]
    notes: tuple[str, ...] = ()


def read_text(data: bytes, *, max_bytes: int = MAX_TEXT_BYTES) -> TextFile:
    """Return the lines of a text file, gzip-packed or plain, UTF-8 or UTF-16.

    Raises ProfileError when it is larger than the limit, or binary.
    """
    plain = unpacked(data, max_bytes=max_bytes)
    notes = (CUT_OFF,) if plain.is_cut_off else ()
    encoding = next((name for mark, name in _ENCODINGS if plain.data.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in plain.data[:_BINARY_CHECK_BYTES]:
        msg = "the file is binary: none of the readers of text files can read it"
        raise ProfileError(msg)
    try:
        text = plain.data.decode(encoding)
    except UnicodeDecodeError:
        text = plain.data.decode(encoding, errors="replace")
        notes = (*notes, BAD_ENCODING)
    if text.count("\n") > MAX_LINES:
        msg = f"the file has more than {MAX_LINES} lines: record less"
        raise ProfileError(msg)
    # Not splitlines(): it also breaks at characters that names may hold.
    return TextFile([line.rstrip("\r") for line in text.split("\n")], notes)
