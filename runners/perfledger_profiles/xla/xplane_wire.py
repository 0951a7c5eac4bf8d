"""Decodes the event facts in an xplane.pb file that jax leaves out.

The profiler writes stats that all events of one name share (FLOPs, bytes, the kind of operation)
once, with the name; jax.profiler.ProfileData returns only the stats of each event. Field numbers
are from tsl/profiler/protobuf/xplane.proto, the encoding is protocol buffers'
(protobuf.dev/programming-guides/encoding).
"""

import struct
from collections.abc import Collection, Iterator, Mapping

from perfledger_profiles.xla.planes import Stat, Stats

# Names per plane: the largest programs have some ten thousand instructions. Python reads about
# fifty thousand names per second.
MAX_NAMES = 100_000

_SPACE_PLANES = 1
_PLANE_NAME, _PLANE_EVENT_NAMES, _PLANE_STAT_NAMES = 2, 4, 5
_ENTRY_VALUE = 2
_ID, _NAME, _STATS = 1, 2, 5  # of event metadata; stat metadata has the first two
_STAT_ID, _DOUBLE, _UNSIGNED, _SIGNED, _TEXT, _REFERENCE = 1, 2, 3, 4, 5, 7

_VARINT, _I64, _SIZED, _I32 = 0, 1, 2, 5  # wire types
_WIRE_TYPE = 7  # the bits of a field's key that hold the wire type
_MAX_VARINT_BITS = 63

Field = int | memoryview


def event_stats(
    data: bytes, *, planes: Collection[str], stat_names: Collection[str]
) -> tuple[Mapping[str, Stats], ...]:
    """Return the chosen stats of each plane's event names, plane by plane in file order.

    Only `planes` are decoded: the others have none. A stat that two events of one name do not share
    is left out. Decoding stops at bytes that are not an xplane; the reader of the events decides
    whether that is an error.
    """
    facts: list[Mapping[str, Stats]] = []
    try:
        for number, plane in _fields(memoryview(data)):
            if number == _SPACE_PLANES:
                facts.append(_plane_facts(_bytes(plane), planes, stat_names))
    except (ValueError, IndexError, struct.error):
        pass  # what came before is sound
    return tuple(facts)


def intact_prefix(data: bytes) -> bytes:
    """Return a message up to the end of its last complete part.

    Of an xplane that is cut off this is every plane but the last.
    """
    view = memoryview(data)
    at = end_of_last_part = 0
    try:
        while at < len(view):
            key, at = _varint(view, at)
            size, at = _varint(view, at)
            at += size
            if key & _WIRE_TYPE != _SIZED or at > len(view):
                break
            end_of_last_part = at
    except (ValueError, IndexError):
        pass  # in the middle of a number
    return data[:end_of_last_part]


def _plane_facts(
    plane: memoryview, planes: Collection[str], wanted_stats: Collection[str]
) -> Mapping[str, Stats]:
    name = ""
    events: list[memoryview] = []
    stats: list[memoryview] = []
    for number, value in _fields(plane):
        if number == _PLANE_NAME:
            name = _text(value)
        elif number == _PLANE_EVENT_NAMES:
            events.append(_bytes(value))
        elif number == _PLANE_STAT_NAMES:
            stats.append(_bytes(value))
    if name not in planes or len(events) > MAX_NAMES or len(stats) > MAX_NAMES:
        return {}
    stat_names = dict(map(_stat_name, stats))
    facts: dict[str, Stats] = {}
    for entry in events:
        event, event_facts = _event_name(entry, stat_names, wanted_stats)
        if event_facts:
            facts[event] = (
                _common_stats(facts[event], event_facts) if event in facts else event_facts
            )
    return facts


def _common_stats(first: Stats, second: Stats) -> Stats:
    return {name: value for name, value in first.items() if second.get(name) == value}


def _stat_name(entry: memoryview) -> tuple[int, str]:
    key, text = 0, ""
    for number, value in _fields(entry):
        if number != _ENTRY_VALUE:
            continue
        for part, content in _fields(_bytes(value)):
            if part == _ID:
                key = _integer(content)
            elif part == _NAME:
                text = _text(content)
    return key, text


def _event_name(
    entry: memoryview, stat_names: Mapping[int, str], wanted_stats: Collection[str]
) -> tuple[str, Stats]:
    text = ""
    stats: dict[str, Stat] = {}
    for number, value in _fields(entry):
        if number != _ENTRY_VALUE:
            continue
        for part, content in _fields(_bytes(value)):
            if part == _NAME:
                text = _text(content)
            elif part == _STATS:
                name, stat = _stat(_bytes(content), stat_names)
                if stat is not None and name in wanted_stats:
                    stats[name] = stat
    return text, stats


def _stat(data: memoryview, stat_names: Mapping[int, str]) -> tuple[str, Stat | None]:
    name, stat = "", None
    for number, value in _fields(data):
        if number == _STAT_ID:
            name = stat_names.get(_integer(value), "")
        elif number == _DOUBLE:
            (stat,) = struct.unpack("<d", _bytes(value))
        elif number == _UNSIGNED:
            stat = _integer(value)
        elif number == _SIGNED:
            stat = _signed(_integer(value))
        elif number == _TEXT:
            stat = _text(value)
        elif number == _REFERENCE:
            stat = stat_names.get(_integer(value), "")
    return name, stat


def _signed(value: int) -> int:
    """Return a signed 64-bit number from its two's complement."""
    return value - (value >> _MAX_VARINT_BITS << _MAX_VARINT_BITS + 1)


def _fields(data: memoryview) -> Iterator[tuple[int, Field]]:
    """Yield the numbers and values of a message's fields; raise ValueError or IndexError."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        wire_type = key & _WIRE_TYPE
        value: Field
        if wire_type == _VARINT:
            value, at = _varint(data, at)
        else:
            if wire_type == _SIZED:
                size, at = _varint(data, at)
            elif wire_type == _I64:
                size = 8
            elif wire_type == _I32:
                size = 4
            else:
                msg = f"a field has wire type {wire_type}, which no xplane has"
                raise ValueError(msg)
            value, at = data[at : at + size], at + size
        if at > end:
            msg = "a field is longer than its message"
            raise ValueError(msg)
        yield key >> 3, value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says whether another byte follows
            return value, at
        shift += 7
        if shift > _MAX_VARINT_BITS:
            msg = "a number has more than 64 bits"
            raise ValueError(msg)


def _bytes(value: Field) -> memoryview:
    if isinstance(value, int):
        msg = "a number stands where a message was expected"
        raise ValueError(msg)  # noqa: TRY004 - wrong bytes, not a wrong call
    return value


def _integer(value: Field) -> int:
    if isinstance(value, int):
        return value
    msg = "a message stands where a number was expected"
    raise ValueError(msg)


def _text(value: Field) -> str:
    return str(_bytes(value), "utf-8", "replace")
