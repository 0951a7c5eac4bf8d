"""Parses Chrome traces, packed or plain, complete or damaged, into batches of typed events.

The file is unpacked and decoded piece by piece and never held in memory as a whole. Keys that are
not needed here, such as host and user names, are never decoded.
"""

import re
import resource
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from perfledger_profiles.parsing.chrome_trace_events import (
    EMPTY_JSON,
    UNREADABLE,
    TraceEvent,
    TraceEventBatch,
    TraceHeader,
    decode_event,
    decode_events,
)
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import (
    MAX_RATIO,
    RATIO_APPLIES_BYTES,
    gunzip_ahead,
    is_gzip,
)

# If the process's memory is unlimited; otherwise a trace may take a third of the limit, if that is
# more.
MAX_UNPACKED_BYTES = 512 * 2**20
# A gigabyte of torch.profiler's events is 3.6 million events, so the 1.3 GiB of a check are five
# million.
MAX_EVENTS = 5_000_000
# Decoded at once, about 3,000 events: fewer cost time per call, more do not fit the caches.
BATCH_BYTES = 2**20

_PLAIN_BYTES = 2**18
CUT_OFF = "the file is cut off: events are missing at its end"

_LIST = re.compile(rb"\s*\[")
_KEY = b'"traceEvents"'
_EVENTS = re.compile(_KEY + rb"\s*:\s*\[")
_FIRST_KEY = re.compile(rb'\[\s*\{\s*"(\w{1,30})"')
# The end of a piece's last event is searched from the piece's end, in ever larger steps.
_TAILS = (2**12, 2**18, 2**40)

# An event has a few hundred characters; repairing a longer one would take long.
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


class _FileTail(TraceHeader, gc=False):
    events: msgspec.Raw = msgspec.field(default=EMPTY_JSON, name="traceEvents")


_FILE_TAIL = msgspec.json.Decoder(_FileTail)


def read_batches(source: bytes | Path) -> Iterator[TraceEventBatch]:
    """Yield the events of a Chrome trace in file order, gzip-packed or plain.

    Damage loses only the events that it touches. Raises ProfileError if no event is readable or the
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


def max_unpacked_bytes() -> int:
    """Return the largest size of a trace, by the limit of this process's memory."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return MAX_UNPACKED_BYTES
    return max(MAX_UNPACKED_BYTES, limit // 3)


def _open(source: bytes | Path) -> BinaryIO:
    return source.open("rb") if isinstance(source, Path) else BytesIO(source)


@dataclass(slots=True)
class _Cutter:
    """A splitter of a byte stream between events; an incomplete event waits in `buffer`."""

    buffer: bytearray = field(default_factory=bytearray)
    waiting: list[bytes] = field(default_factory=list[bytes])  # number of pieces behind it
    size: int = 0  # size of both
    opening: bytes = b""  # what precedes the event list; b"" until the list begins
    border: re.Pattern[bytes] | None = None
    enough: int = field(default_factory=lambda: BATCH_BYTES)  # bytes to wait for before cutting

    def cut(self, pieces: Iterable[bytes | None]) -> Iterator[TraceEventBatch]:
        """Yield the events completed by each piece; a piece of None ends the file early."""
        notes: tuple[str, ...] = ()
        for piece in pieces:
            if piece is None:
                notes = (CUT_OFF,)
                break
            self.waiting.append(piece)
            self.size += len(piece)
            if self.size >= self.enough:
                self._gather()
                yield from self._start()
                yield from self._complete_events()
                self.size = len(self.buffer)
        self._gather()
        yield from self._start()
        yield self._last(notes)

    def _gather(self) -> None:
        self.buffer = bytearray().join([self.buffer, *self.waiting])
        self.waiting.clear()

    def _start(self) -> Iterator[TraceEventBatch]:
        """Find the event list and drop everything before its bracket."""
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
            # Searching everything again for each piece would take quadratic time.
            self.enough = 2 * len(self.buffer)
            return
        end, start = border.start() + 1, border.start() + border[0].index(b"{")
        # The events refer to the bytes they were decoded from, so those are not modified any more.
        batch, self.buffer = self.buffer, bytearray(b"[") + self.buffer[start:]
        batch[end:] = b"]"
        self.enough = BATCH_BYTES
        try:
            yield TraceEventBatch(events=decode_events(_check_memory(batch)))
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
            return _salvage(rest, notes=notes)
        try:
            if self.opening == b" ":
                return TraceEventBatch(events=decode_events(rest), notes=notes)
            last = _FILE_TAIL.decode(rest)
            events = decode_events(bytes(last.events))
            return TraceEventBatch(events=events, notes=notes, header=last)
        except UNREADABLE:
            return _salvage(rest, notes=notes)


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
    """Yield the unpacked bytes piece by piece, with None where they are damaged or end early."""
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
    if size > max_unpacked_bytes():
        msg = f"the trace is larger than {max_unpacked_bytes()} bytes: profile fewer steps"
        raise ProfileError(msg)
    if size > max(RATIO_APPLIES_BYTES, MAX_RATIO * packed):
        msg = f"the trace unpacks to more than {MAX_RATIO} times its size: no profiler writes that"
        raise ProfileError(msg)


def _salvage(piece: bytes, *, notes: tuple[str, ...] = ()) -> TraceEventBatch:
    """Read malformed events one by one as far as possible; note a list without an end."""
    chunks = list(_chunks(piece.decode("utf-8", errors="replace")))
    read = [_events_in(chunk) for chunk in chunks]
    events = [event for one in read if one is not None for event in one]
    if chunks and chunks[-1] is None:
        notes = (CUT_OFF,)
    return TraceEventBatch(events=events, dropped=read.count(None), notes=notes)


def _chunks(text: str) -> Iterator[str | None]:
    """Yield the text inside each event's braces, with None for an event that is cut off."""
    start = text.find("{", text.find('"traceEvents"') + 1)
    if start < 0:
        return
    *complete, last = _BORDER.split(text[start + 1 :])
    yield from complete
    end = _END.search(last)
    yield last[: end.start()] if end else None


def _events_in(chunk: str | None) -> Sequence[TraceEvent] | None:
    """Return the event in a chunk, nothing if it is of no use; None if it is unreadable."""
    if chunk is None:
        return None
    try:
        return decode_event("{" + chunk + "}")
    except UNREADABLE:
        if len(chunk) > _MAX_REPAIRED_CHARACTERS:
            return None
    try:
        return decode_event("{" + _repair(chunk) + "}")
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
