"""Parses Chrome traces, packed or plain, complete or damaged, into batches of typed events.

The file is unpacked and decoded piece by piece, so that all of it is never in memory. Keys that
are not needed here, such as host and user names, are never decoded.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import (
    MAX_RATIO,
    RATIO_APPLIES_BYTES,
    gunzip_ahead,
    is_gzip,
)

MAX_UNPACKED_BYTES = 512 * 2**20
# The largest trace within the size limit has three million.
MAX_EVENTS = 5_000_000
# Decoded at once, some 3,000 events: less costs time per call, more leaves the caches.
BATCH_BYTES = 2**20

_PLAIN_BYTES = 2**18
_CUT_OFF = "the file is cut off: events are missing at its end"

_LIST = re.compile(rb"\s*\[")
_KEY = b'"traceEvents"'
_EVENTS = re.compile(_KEY + rb"\s*:\s*\[")
_FIRST_KEY = re.compile(rb'\[\s*\{\s*"(\w{1,30})"')
# The end of a piece's last event is searched from the piece's end, in ever larger steps.
_TAILS = (2**12, 2**18, 2**40)

# An event is a few hundred characters; repairing a longer one would take long.
_MAX_REPAIRED_CHARACTERS = 20_000
_BORDER = re.compile(r"\}\s*,\s*\{")
_END = re.compile(r"\}\s*(?:,\s*)?\]")
_CONTROL = re.compile(r"[\x00-\x1f]")
# A lone UTF-16 surrogate.
_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_NAME = re.compile(r'"name"\s*:\s*"')
_NAME_END = re.compile(r'"\s*(?:,\s*"(?:ph|cat|pid|tid|ts|dur|args|id|s)"|$)')
_BARE_QUOTE = re.compile(r'(?<!\\)"')

Data = TypeVar("Data", bytes, bytearray)
Scalar = int | float | str | None
EMPTY_JSON = msgspec.Raw(b"")


class TraceEventArgs(msgspec.Struct, gc=False):
    """The arguments that are used; rare or shared ones stay JSON until needed."""

    dims: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Input type")
    stream: Scalar = -1
    correlation: Scalar = -1
    bytes: Scalar = -1
    registers: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="registers per thread")
    shared_memory: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="shared memory")
    occupancy: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="est. achieved occupancy %")
    grid: msgspec.Raw = EMPTY_JSON
    block: msgspec.Raw = EMPTY_JSON
    collective: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Collective name")
    elements: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="In msg nelems")
    element_type: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="dtype")
    ranks: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="Group size")
    allocated: Scalar = msgspec.field(default=-1, name="Total Allocated")
    reserved: Scalar = msgspec.field(default=-1, name="Total Reserved")
    changed: Scalar = msgspec.field(default=None, name="Bytes")
    device_id: Scalar = msgspec.field(default=-1, name="Device Id")
    device_type: Scalar = msgspec.field(default=-1, name="Device Type")


class TraceEvent(msgspec.Struct, gc=False):
    """One trace event; times are microseconds, -1 where the event has none."""

    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = -1.0
    dur: float = -1.0
    args: TraceEventArgs | None = None


# An event's phase comes first and decides how much of the rest is decoded.
class _Call(TraceEvent, tag_field="ph", tag="X"):
    pass


class _Instant(TraceEvent, tag_field="ph", tag="i"):
    pass


class _Arrow(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    """The begin of a flow; a third of a trace are arrows, which are not decoded."""


class _ArrowStep(_Arrow, tag="t"):
    pass


class _ArrowEnd(_Arrow, tag="f"):
    pass


class _Label(_Arrow, tag="M"):
    """The name or the sort order of a process or thread."""


_DecodedEvent = _Call | _Instant | _Arrow | _ArrowStep | _ArrowEnd | _Label


class TraceHeader(msgspec.Struct, gc=False):
    """The fields beside the events, as JSON."""

    devices: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="deviceProperties")
    distributed: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="distributedInfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEventBatch:
    """The readable events of a piece, the number of unreadable ones, and notes on the damage."""

    events: Sequence[TraceEvent] = ()
    dropped: int = 0
    notes: tuple[str, ...] = ()
    header: TraceHeader | None = None


class _FileTail(TraceHeader, gc=False):
    events: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="traceEvents")


_EVENTS_OF_KNOWN_PHASE = msgspec.json.Decoder(list[_DecodedEvent])
_EVENTS_OF_ANY_PHASE = msgspec.json.Decoder(list[TraceEvent])
_SINGLE_EVENT = msgspec.json.Decoder(TraceEvent)
_FILE_TAIL = msgspec.json.Decoder(_FileTail)
# Everything that the parser raises for input it cannot read.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_batches(source: bytes | Path) -> Iterator[TraceEventBatch]:
    """Yield the events of a Chrome trace in file order, gzip-packed or plain.

    Damage costs only the events it touches. Raises ProfileError when no event is readable or the
    file exceeds the limits.
    """
    events = 0
    with _open(source) as file:
        for batch in _Cutter().cut(_pieces(file)):
            events += len(batch.events)
            _check_count(events)
            yield batch
    if events == 0:
        msg = "no event of this trace is readable: give a Chrome trace of torch.profiler"
        raise ProfileError(msg)


def _open(source: bytes | Path) -> BinaryIO:
    return source.open("rb") if isinstance(source, Path) else BytesIO(source)


@dataclass(slots=True)
class _Cutter:
    """A splitter of a byte stream between events; an incomplete event waits in `buffer`."""

    buffer: bytearray = field(default_factory=bytearray)
    opening: bytes = b""  # what precedes the event list; b"" until the list is found
    border: re.Pattern[bytes] | None = None
    enough: int = field(default_factory=lambda: BATCH_BYTES)  # bytes to wait for before cutting

    def cut(self, pieces: Iterable[bytes | None]) -> Iterator[TraceEventBatch]:
        """Yield the events that each piece completes; a piece of None ends the file early."""
        notes: tuple[str, ...] = ()
        for piece in pieces:
            if piece is None:
                notes = (_CUT_OFF,)
                break
            self.buffer += piece
            if len(self.buffer) >= self.enough:
                yield from self._start()
                yield from self._complete_events()
        yield from self._start()
        yield self._last(notes)

    def _start(self) -> Iterator[TraceEventBatch]:
        """Find the list of events and drop everything before its bracket."""
        if self.opening:
            return
        match = _LIST.match(self.buffer)
        if match is None:
            match = _EVENTS.search(self.buffer)
            if match is None:
                return
            yield TraceEventBatch(header=_header(bytes(self.buffer[: match.end()]) + b"]}"))
            self.opening = b'{"traceEvents":'
        else:
            self.opening = b" "
        del self.buffer[: match.end() - 1]
        key = _FIRST_KEY.match(self.buffer)
        if key is not None:
            self.border = re.compile(rb'\}\s*,\s*\{\s*"' + key[1] + b'"')

    def _complete_events(self) -> Iterator[TraceEventBatch]:
        border = self._last_border()
        if border is None:
            # Searching all of it again for every piece would take quadratic time.
            self.enough = 2 * len(self.buffer)
            return
        end, start = border.start() + 1, border.start() + border[0].index(b"{")
        # The events refer to the bytes they were decoded from, so those are not modified again.
        batch, self.buffer = self.buffer, bytearray(b"[") + self.buffer[start:]
        batch[end:] = b"]"
        self.enough = BATCH_BYTES
        try:
            yield TraceEventBatch(events=_events(_check_memory(batch)))
        except UNREADABLE:
            yield _salvage(bytes(batch))

    def _last_border(self) -> re.Match[bytes] | None:
        if self.border is None:
            return None
        for tail in _TAILS:
            borders = list(self.border.finditer(self.buffer, max(0, len(self.buffer) - tail)))
            if borders:
                return borders[-1]
        return None

    def _last(self, notes: tuple[str, ...]) -> TraceEventBatch:
        rest = self.opening + _check_memory(bytes(self.buffer))
        if rest.count(_KEY) > 1:  # a parser silently takes the last of two lists
            return replace(_salvage(rest), notes=notes)
        try:
            if self.opening == b" ":
                return TraceEventBatch(events=_events(rest), notes=notes)
            last = _FILE_TAIL.decode(rest)
            return TraceEventBatch(events=_events(last.events), notes=notes, header=last)
        except UNREADABLE:
            return replace(_salvage(rest), notes=notes)


def _events(array: bytes | bytearray | msgspec.Raw) -> Sequence[TraceEvent]:
    """Decode a list of events, without the kinds that are never used."""
    try:
        events = _EVENTS_OF_KNOWN_PHASE.decode(array)
    except msgspec.ValidationError:  # an event of an unknown phase, or of none
        return _EVENTS_OF_ANY_PHASE.decode(array)
    return [event for event in events if type(event) is _Call or type(event) is _Instant]


def _check_memory(data: Data) -> Data:
    """Return the data; raise ProfileError if its objects would exhaust the parser's memory."""
    if len(data) > 2 * BATCH_BYTES:
        _check_count(data.count(b"{") // 2)
    return data


def _check_count(events: int) -> None:
    if events > MAX_EVENTS:
        msg = f"the trace has more than {MAX_EVENTS} events: profile fewer steps"
        raise ProfileError(msg)


def _header(data: bytes) -> TraceHeader | None:
    try:
        return msgspec.json.decode(data, type=TraceHeader)
    except UNREADABLE:
        return None


def _pieces(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the unpacked bytes piece by piece, and None where they are damaged or end early."""
    packed = file.seek(0, SEEK_END)
    file.seek(0)
    if not is_gzip(file.read(2)):
        _check_size(packed, packed=packed)
        file.seek(0)
        while piece := file.read(_PLAIN_BYTES):
            yield piece
        return
    file.seek(0)
    size = 0
    for part in gunzip_ahead(file):
        size += len(part or b"")
        _check_size(size, packed=packed)
        yield part


def _check_size(size: int, *, packed: int) -> None:
    if size > MAX_UNPACKED_BYTES:
        msg = f"the trace is larger than {MAX_UNPACKED_BYTES} bytes: profile fewer steps"
        raise ProfileError(msg)
    if size > max(RATIO_APPLIES_BYTES, MAX_RATIO * packed):
        msg = f"the trace unpacks to more than {MAX_RATIO} times its size: no profiler writes that"
        raise ProfileError(msg)


def _salvage(piece: bytes) -> TraceEventBatch:
    """Read malformed events one by one, as far as possible."""
    text = piece.decode("utf-8", errors="replace")
    read = [_event(chunk) for chunk in _chunks(text)]
    events = [event for event in read if event is not None]
    return TraceEventBatch(events=events, dropped=len(read) - len(events))


def _chunks(text: str) -> Iterator[str | None]:
    """Yield the text inside each event's braces, None for an event that is cut off."""
    start = text.find("{", text.find('"traceEvents"') + 1)
    if start < 0:
        return
    *complete, last = _BORDER.split(text[start + 1 :])
    yield from complete
    end = _END.search(last)
    yield last[: end.start()] if end else None


def _event(chunk: str | None) -> TraceEvent | None:
    if chunk is None:
        return None
    try:
        return _SINGLE_EVENT.decode("{" + chunk + "}")
    except UNREADABLE:
        if len(chunk) > _MAX_REPAIRED_CHARACTERS:
            return None
    try:
        return _SINGLE_EVENT.decode("{" + _repair(chunk) + "}")
    except UNREADABLE:
        return None


def _repair(chunk: str) -> str:
    """Escape what profilers leave unescaped: quotes in names, backslashes in paths.

    Control characters become spaces, lone surrogates U+FFFD.
    """
    escaped = _BAD_ESCAPE.sub(r"\\\\", _SURROGATE.sub(r"\\ufffd", _CONTROL.sub(" ", chunk)))
    opening = _NAME.search(escaped)
    closing = _NAME_END.search(escaped, opening.end()) if opening else None
    if opening is None or closing is None:
        return escaped
    begin, end = opening.end(), closing.start()
    return escaped[:begin] + _BARE_QUOTE.sub(r'\\"', escaped[begin:end]) + escaped[end:]
