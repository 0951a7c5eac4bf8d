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

_GZIP = b"\x1f\x8b"
_CHUNK_BYTES = 16 * 2**20
_SPACE = b" \t\r\n"
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
    rest = data
    while rest:
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            try:
                part = unpacker.decompress(rest, _CHUNK_BYTES)
            except zlib.error:
                yield None
                return
            rest = unpacker.unconsumed_tail
            if part:
                yield part
            elif not rest and not unpacker.eof:
                yield None
                return
        rest = unpacker.unused_data.lstrip(b"\0")


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
    events: list[Event] = []
    dropped = 0
    for chunk in _chunks(text):
        event = _event(decoder, chunk)
        if event is None:
            dropped += 1
        else:
            events.append(event)
    return Events(events=events, dropped=dropped)


def _chunks(text: str) -> Iterator[str]:
    """Yield the inside of each event's braces, as well as they can be told."""
    start = text.find("{", max(text.find('"traceEvents"'), 0) + 1 if '"traceEvents"' in text else 0)
    if start < 0:
        return
    chunks = _BORDER.split(text[start + 1 :])
    yield from chunks[:-1]
    yield _END.split(chunks[-1], maxsplit=1)[0]


def _event(decoder: "msgspec.json.Decoder[Event]", chunk: str) -> Event | None:
    for text in (chunk, _repaired(chunk)):
        try:
            return decoder.decode("{" + text + "}")
        except (msgspec.DecodeError, RecursionError):
            continue
    return None


def _repaired(chunk: str) -> str:
    """Escape what profilers forget to escape: quotes in names, backslashes in paths."""
    escaped = _BAD_ESCAPE.sub(r"\\\\", chunk)
    return _NAME.sub(lambda m: m[1] + _BARE_QUOTE.sub(r'\\"', m[2]) + m[3], escaped)
