"""Turn the bytes of a Chrome trace, packed or damaged or neither, into typed events.

Keys that nothing here needs, such as host and user names, are never decoded.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from perfledger_profiles.errors import ProfileError

MAX_UNPACKED_BYTES = 512 * 2**20
# Real traces pack 14 to 35 times; a bomb reaches a thousand.
MAX_RATIO = 256
# Below this no ratio is suspicious: a short trace of one repeated event packs very well.
RATIO_APPLIES_BYTES = 32 * 2**20
# Events and their arguments; the largest trace within the size limit has four million. The parser
# dies without an exception when memory runs out, and "{}," repeated takes fifty times its size.
MAX_OBJECTS = 5_000_000

_GZIP = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib's number for "with a gzip header"
# Unpacks to 17 MB at most; what is lost where the data is damaged.
_PIECE_BYTES = 16 * 2**10
_SPACE = b" \t\r\n"
# An event is a few hundred characters; looking for a quote in more would take long.
_MAX_REPAIRED_CHARACTERS = 20_000
_BORDER = re.compile(r"\}\s*,\s*\{")
_END = re.compile(r"\}\s*\]")
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_NAME = re.compile(
    r'("name"\s*:\s*")(.*?)("\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|args|id|s)"|$))', re.DOTALL
)
_BARE_QUOTE = re.compile(r'(?<!\\)"')


class Args(msgspec.Struct, gc=False):
    """The arguments that say which operation an event is; shapes stay as JSON until needed."""

    correlation: int | None = None
    dims: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="Input type")


class Event(msgspec.Struct, gc=False):
    """One trace event; times are microseconds."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = -1.0
    dur: float = -1.0
    args: Args | None = None


class _Trace(msgspec.Struct, gc=False):
    events: list[Event] = msgspec.field(name="traceEvents")


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What could be read, how many events could not, and what was wrong with the file in words."""

    events: Sequence[Event]
    dropped: int = 0
    notes: tuple[str, ...] = ()


def read_events(data: bytes) -> Events:
    """Return the events of a Chrome trace, gzip-packed or plain.

    What is cut off, badly encoded or malformed costs the events it touches, no more. Raises
    ProfileError when there is nothing to read or the file is larger than the limits.
    """
    raw, is_cut_off = _unpacked(data)
    if raw.count(b"{") > MAX_OBJECTS:
        msg = f"the trace has more than {MAX_OBJECTS} objects: profile fewer steps"
        raise ProfileError(msg)
    notes = ("the file is cut off: events are missing at its end",) if is_cut_off else ()
    try:
        return Events(events=_decoded(raw), notes=notes)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        salvaged = _salvaged(raw.decode("utf-8", errors="replace"))
    if not salvaged.events:
        msg = "no event of this trace can be read: is it a Chrome trace of torch.profiler?"
        raise ProfileError(msg)
    return Events(events=salvaged.events, dropped=salvaged.dropped, notes=notes)


def _decoded(raw: bytes) -> list[Event]:
    if raw.lstrip(_SPACE)[:1] == b"[":
        return msgspec.json.decode(raw, type=list[Event])
    return msgspec.json.decode(raw, type=_Trace).events


def _unpacked(data: bytes) -> tuple[bytes, bool]:
    """Return the plain bytes, and whether the file ended before they did."""
    if not data.startswith(_GZIP):
        _check_size(len(data), packed=len(data))
        return data, False
    parts: list[bytes] = []
    size = 0
    for part in _gunzip(data):
        if part is None:
            return b"".join(parts), True
        size += len(part)
        _check_size(size, packed=len(data))
        parts.append(part)
    return b"".join(parts), False


def _gunzip(data: bytes) -> Iterator[bytes | None]:
    """Yield the members' bytes piece by piece, and None where the data is damaged or ends early."""
    unpacker = zlib.decompressobj(wbits=_GZIP_WINDOW)
    for start in range(0, len(data), _PIECE_BYTES):
        rest = data[start : start + _PIECE_BYTES]
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


def _check_size(size: int, *, packed: int) -> None:
    if size > MAX_UNPACKED_BYTES:
        msg = f"the trace is larger than {MAX_UNPACKED_BYTES} bytes: profile fewer steps"
        raise ProfileError(msg)
    if size > max(RATIO_APPLIES_BYTES, MAX_RATIO * packed):
        msg = f"the trace unpacks to more than {MAX_RATIO} times its size: not a profiler's file"
        raise ProfileError(msg)


def _salvaged(text: str) -> Events:
    """Read what can be read of a malformed trace, event by event."""
    decoder = msgspec.json.Decoder(Event)
    read = [_event(decoder, chunk) for chunk in _chunks(text)]
    events = [event for event in read if event is not None]
    return Events(events=events, dropped=len(read) - len(events))


def _chunks(text: str) -> Iterator[str | None]:
    """Yield the inside of each event's braces, as well as they can be told; None for a cut one."""
    start = text.find("{", text.find('"traceEvents"') + 1)
    if start < 0:
        return
    *whole, last = _BORDER.split(text[start + 1 :])
    yield from whole
    end = _END.search(last)
    yield last[: end.start()] if end else None


def _event(decoder: "msgspec.json.Decoder[Event]", chunk: str | None) -> Event | None:
    if chunk is None:
        return None
    try:
        return decoder.decode("{" + chunk + "}")
    except (msgspec.DecodeError, RecursionError):
        if len(chunk) > _MAX_REPAIRED_CHARACTERS:
            return None
    try:
        return decoder.decode("{" + _repaired(chunk) + "}")
    except (msgspec.DecodeError, RecursionError):
        return None


def _repaired(chunk: str) -> str:
    """Escape what profilers forget to escape: quotes in names, backslashes in paths."""
    escaped = _BAD_ESCAPE.sub(r"\\\\", chunk)
    return _NAME.sub(lambda m: m[1] + _BARE_QUOTE.sub(r'\\"', m[2]) + m[3], escaped)
