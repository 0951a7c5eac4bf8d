"""Turn a Chrome trace, packed or damaged or neither, into batches of typed events.

The file is unpacked and decoded piece by piece, so that it is never in memory as a whole. Keys that
nothing here needs, such as host and user names, are never decoded.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from perfledger_profiles.errors import ProfileError
from perfledger_profiles.packing import MAX_RATIO, RATIO_APPLIES_BYTES, gunzip_ahead, is_packed

MAX_UNPACKED_BYTES = 512 * 2**20
# The largest trace within the size limit has three million, and a thousand more arguments.
MAX_EVENTS = 5_000_000
# What is decoded at once, some 3,000 events: less costs time per call, more leaves the caches.
BATCH_BYTES = 2**20

_PLAIN_BYTES = 2**18
_CUT_OFF = "the file is cut off: events are missing at its end"

_LIST = re.compile(rb"\s*\[")
_KEY = b'"traceEvents"'
_EVENTS = re.compile(_KEY + rb"\s*:\s*\[")
_FIRST_KEY = re.compile(rb'\[\s*\{\s*"(\w{1,30})"')
# Where the last event of a piece ends is looked for from its end, in ever larger steps.
_TAILS = (2**12, 2**18, 2**40)

# An event is a few hundred characters; looking for a quote in more would take long.
_MAX_REPAIRED_CHARACTERS = 20_000
_BORDER = re.compile(r"\}\s*,\s*\{")
_END = re.compile(r"\}\s*(?:,\s*)?\]")
_CONTROL = re.compile(r"[\x00-\x1f]")
# Half of a character without its other half.
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
NO_JSON = msgspec.Raw(b"")


class Args(msgspec.Struct, gc=False):
    """The arguments that are used; what few events have, or many share, stays JSON until needed."""

    dims: msgspec.Raw = msgspec.field(default=NO_JSON, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=NO_JSON, name="Input type")
    stream: Scalar = -1
    correlation: Scalar = -1
    bytes: Scalar = -1
    registers: msgspec.Raw = msgspec.field(default=NO_JSON, name="registers per thread")
    shared_memory: msgspec.Raw = msgspec.field(default=NO_JSON, name="shared memory")
    grid: msgspec.Raw = NO_JSON
    block: msgspec.Raw = NO_JSON
    collective: msgspec.Raw = msgspec.field(default=NO_JSON, name="Collective name")
    elements: msgspec.Raw = msgspec.field(default=NO_JSON, name="In msg nelems")
    element_type: msgspec.Raw = msgspec.field(default=NO_JSON, name="dtype")
    ranks: msgspec.Raw = msgspec.field(default=NO_JSON, name="Group size")
    allocated: Scalar = msgspec.field(default=-1, name="Total Allocated")
    reserved: Scalar = msgspec.field(default=-1, name="Total Reserved")
    changed: Scalar = msgspec.field(default=None, name="Bytes")
    device_id: Scalar = msgspec.field(default=-1, name="Device Id")
    device_type: Scalar = msgspec.field(default=-1, name="Device Type")


class Event(msgspec.Struct, gc=False):
    """One trace event; times are microseconds. Only what took time has a duration."""

    cat: str = ""
    name: str = ""
    pid: int | str = 0
    tid: int | str = 0
    ts: float = -1.0
    dur: float = -1.0
    args: Args | None = None


# An event's phase comes first in it, and tells how much of the rest need be decoded.
class _Call(Event, tag_field="ph", tag="X"):
    pass


class _Instant(Event, tag_field="ph", tag="i"):
    pass


class _Arrow(msgspec.Struct, gc=False, tag_field="ph", tag="s"):
    """Where a flow begins. A third of a trace are arrows: they are passed over, not decoded."""


class _ArrowStep(_Arrow, tag="t"):
    pass


class _ArrowEnd(_Arrow, tag="f"):
    pass


class _Label(_Arrow, tag="M"):
    """What a process or thread is called, and in which order it is drawn."""


_Known = _Call | _Instant | _Arrow | _ArrowStep | _ArrowEnd | _Label


class Header(msgspec.Struct, gc=False):
    """What stands beside the events, as JSON."""

    devices: msgspec.Raw = msgspec.field(default=NO_JSON, name="deviceProperties")
    distributed: msgspec.Raw = msgspec.field(default=NO_JSON, name="distributedInfo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What could be read of a piece, how many events could not, and what was wrong in words."""

    events: Sequence[Event] = ()
    dropped: int = 0
    notes: tuple[str, ...] = ()
    header: Header | None = None


class _Last(Header, gc=False):
    events: msgspec.Raw = msgspec.field(default=NO_JSON, name="traceEvents")


_KNOWN = msgspec.json.Decoder(list[_Known])
_MANY = msgspec.json.Decoder(list[Event])
_ONE = msgspec.json.Decoder(Event)
_LAST = msgspec.json.Decoder(_Last)
# All that the parser raises for what it cannot read.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_batches(source: bytes | Path) -> Iterator[Batch]:
    """Yield the events of a Chrome trace in the order of the file, gzip-packed or plain.

    What is cut off, badly encoded or malformed costs the events it touches, no more. Raises
    ProfileError when there is nothing to read or the file is larger than the limits.
    """
    events = 0
    with _opened(source) as file:
        for batch in _Cutter().cut(_pieces(file)):
            events += len(batch.events)
            _check_count(events)
            yield batch
    if events == 0:
        msg = "no event of this trace can be read: is it a Chrome trace of torch.profiler?"
        raise ProfileError(msg)


def _opened(source: bytes | Path) -> BinaryIO:
    return source.open("rb") if isinstance(source, Path) else BytesIO(source)


@dataclass(slots=True)
class _Cutter:
    """Cuts a stream of bytes between events; what is not yet whole waits in `buffer`."""

    buffer: bytearray = field(default_factory=bytearray)
    opening: bytes = b""  # what goes before the list of events again; b"" until it is found
    border: re.Pattern[bytes] | None = None
    enough: int = field(default_factory=lambda: BATCH_BYTES)  # to wait for before cutting

    def cut(self, pieces: Iterable[bytes | None]) -> Iterator[Batch]:
        """Yield what each piece completes; None says that the rest of the file is lost."""
        notes: tuple[str, ...] = ()
        for piece in pieces:
            if piece is None:
                notes = (_CUT_OFF,)
                break
            self.buffer += piece
            if len(self.buffer) >= self.enough:
                yield from self._start()
                yield from self._whole_events()
        yield from self._start()
        yield self._last(notes)

    def _start(self) -> Iterator[Batch]:
        """Find the list of events, and drop all that is before it but its bracket."""
        if self.opening:
            return
        found = _LIST.match(self.buffer)
        if found is None:
            found = _EVENTS.search(self.buffer)
            if found is None:
                return
            yield Batch(header=_header(bytes(self.buffer[: found.end()]) + b"]}"))
            self.opening = b'{"traceEvents":'
        else:
            self.opening = b" "
        del self.buffer[: found.end() - 1]
        key = _FIRST_KEY.match(self.buffer)
        if key is not None:
            self.border = re.compile(rb'\}\s*,\s*\{\s*"' + key[1] + b'"')

    def _whole_events(self) -> Iterator[Batch]:
        border = self._last_border()
        if border is None:
            # Looking at all of it again for every piece would take the square of its length.
            self.enough = 2 * len(self.buffer)
            return
        end, start = border.start() + 1, border.start() + border[0].index(b"{")
        # The events hold on to what they were decoded from, so it is not touched again.
        batch, self.buffer = self.buffer, bytearray(b"[") + self.buffer[start:]
        batch[end:] = b"]"
        self.enough = BATCH_BYTES
        try:
            yield Batch(events=_events(_checked(batch)))
        except UNREADABLE:
            yield _salvaged(bytes(batch))

    def _last_border(self) -> re.Match[bytes] | None:
        if self.border is None:
            return None
        for tail in _TAILS:
            found = list(self.border.finditer(self.buffer, max(0, len(self.buffer) - tail)))
            if found:
                return found[-1]
        return None

    def _last(self, notes: tuple[str, ...]) -> Batch:
        rest = self.opening + _checked(bytes(self.buffer))
        if rest.count(_KEY) > 1:  # of two lists a parser takes the last, without a word
            return replace(_salvaged(rest), notes=notes)
        try:
            if self.opening == b" ":
                return Batch(events=_events(rest), notes=notes)
            last = _LAST.decode(rest)
            return Batch(events=_events(last.events), notes=notes, header=last)
        except UNREADABLE:
            return replace(_salvaged(rest), notes=notes)


def _events(listed: bytes | bytearray | msgspec.Raw) -> Sequence[Event]:
    """Decode a list of events without those that are never used."""
    try:
        known = _KNOWN.decode(listed)
    except msgspec.ValidationError:  # an event of another phase than these, or of none
        return _MANY.decode(listed)
    return [event for event in known if type(event) is _Call or type(event) is _Instant]


def _checked(data: Data) -> Data:
    """Return the data unless its objects would take all memory: the parser dies of that."""
    if len(data) > 2 * BATCH_BYTES:
        _check_count(data.count(b"{") // 2)
    return data


def _check_count(events: int) -> None:
    if events > MAX_EVENTS:
        msg = f"the trace has more than {MAX_EVENTS} events: profile fewer steps"
        raise ProfileError(msg)


def _header(data: bytes) -> Header | None:
    try:
        return msgspec.json.decode(data, type=Header)
    except UNREADABLE:
        return None


def _pieces(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the plain bytes piece by piece, and None where they are damaged or end early."""
    packed = file.seek(0, SEEK_END)
    file.seek(0)
    if not is_packed(file.read(2)):
        _check_size(packed, packed=packed)
        file.seek(0)
        while plain := file.read(_PLAIN_BYTES):
            yield plain
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
        msg = f"the trace unpacks to more than {MAX_RATIO} times its size: not a profiler's file"
        raise ProfileError(msg)


def _salvaged(piece: bytes) -> Batch:
    """Read what can be read of malformed events, one by one."""
    text = piece.decode("utf-8", errors="replace")
    read = [_event(chunk) for chunk in _chunks(text)]
    events = [event for event in read if event is not None]
    return Batch(events=events, dropped=len(read) - len(events))


def _chunks(text: str) -> Iterator[str | None]:
    """Yield the inside of each event's braces, as well as they can be told; None for a cut one."""
    start = text.find("{", text.find('"traceEvents"') + 1)
    if start < 0:
        return
    *whole, last = _BORDER.split(text[start + 1 :])
    yield from whole
    end = _END.search(last)
    yield last[: end.start()] if end else None


def _event(chunk: str | None) -> Event | None:
    if chunk is None:
        return None
    try:
        return _ONE.decode("{" + chunk + "}")
    except UNREADABLE:
        if len(chunk) > _MAX_REPAIRED_CHARACTERS:
            return None
    try:
        return _ONE.decode("{" + _repaired(chunk) + "}")
    except UNREADABLE:
        return None


def _repaired(chunk: str) -> str:
    """Escape what profilers forget to escape: quotes in the name, backslashes in paths.

    Control characters become spaces, and halves of a character that is cut in two U+FFFD.
    """
    escaped = _BAD_ESCAPE.sub(r"\\\\", _SURROGATE.sub(r"\\ufffd", _CONTROL.sub(" ", chunk)))
    opening = _NAME.search(escaped)
    closing = _NAME_END.search(escaped, opening.end()) if opening else None
    if opening is None or closing is None:
        return escaped
    begin, end = opening.end(), closing.start()
    return escaped[:begin] + _BARE_QUOTE.sub(r'\\"', escaped[begin:end]) + escaped[end:]
