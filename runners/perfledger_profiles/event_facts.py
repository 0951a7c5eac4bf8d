"""Turn the bytes of an xplane.pb file into the facts about its events that jax leaves out.

What is true of all events of one name (FLOPs, bytes, the kind of operation) the profiler writes
once, with the name; jax.profiler.ProfileData hands out only what each event has of its own. The
fields' numbers are those of tsl/profiler/protobuf/xplane.proto, the encoding is protocol buffers'
(protobuf.dev/programming-guides/encoding).
"""

import struct
from collections.abc import Collection, Iterator, Mapping

from perfledger_profiles.planes import Stat, Stats

# Names on one plane: the largest programs have some ten thousand instructions. Python reads about
# fifty thousand names a second.
MAX_NAMES = 100_000

_SPACE_PLANES = 1
_PLANE_NAME, _PLANE_EVENT_NAMES, _PLANE_STAT_NAMES = 2, 4, 5
_ENTRY_VALUE = 2
_ID, _NAME, _STATS = 1, 2, 5  # of a name of events, and but for the last of a name of stats
_STAT_ID, _DOUBLE, _UNSIGNED, _SIGNED, _TEXT, _REFERENCE = 1, 2, 3, 4, 5, 7

_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5  # the ways in which a field is written
_WAY = 7  # the bits of a field's key that say it
_MAX_VARINT_BITS = 63

Field = int | memoryview


def event_facts(
    data: bytes, *, planes: Collection[str], wanted: Collection[str]
) -> tuple[Mapping[str, Stats], ...]:
    """Return for each plane, in the file's order, its events' names with their `wanted` stats.

    Only `planes` are looked into: the others have none. A fact that two events of one name do not
    share is left out. Bytes that are no xplane end what is returned: whether that is an error is
    for the reader of the events to say.
    """
    found: list[Mapping[str, Stats]] = []
    try:
        for number, plane in _fields(memoryview(data)):
            if number == _SPACE_PLANES:
                found.append(_plane_facts(_bytes(plane), planes, wanted))
    except (ValueError, IndexError, struct.error):
        pass  # what came before is sound
    return tuple(found)


def whole_part(data: bytes) -> bytes:
    """Return a message up to the end of its last part that is there as a whole.

    Of an xplane that was cut off these are the planes before the one that was being written.
    """
    view = memoryview(data)
    at = whole = 0
    try:
        while at < len(view):
            key, at = _varint(view, at)
            size, at = _varint(view, at)
            at += size
            if key & _WAY != _SIZED or at > len(view):
                break
            whole = at
    except (ValueError, IndexError):
        pass  # in the middle of a number
    return data[:whole]


def _plane_facts(
    plane: memoryview, planes: Collection[str], wanted: Collection[str]
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
        event, found = _event_name(entry, stat_names, wanted)
        if found:
            facts[event] = _shared(facts[event], found) if event in facts else found
    return facts


def _shared(one: Stats, other: Stats) -> Stats:
    return {name: value for name, value in one.items() if other.get(name) == value}


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
    entry: memoryview, stat_names: Mapping[int, str], wanted: Collection[str]
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
                if stat is not None and name in wanted:
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
    """Return a 64-bit number that may be negative, which is written as its two's complement."""
    return value - (value >> _MAX_VARINT_BITS << _MAX_VARINT_BITS + 1)


def _fields(data: memoryview) -> Iterator[tuple[int, Field]]:
    """Yield the fields of a message by their numbers; raises ValueError or IndexError."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        way = key & _WAY
        value: Field
        if way == _VARINT:
            value, at = _varint(data, at)
        else:
            if way == _SIZED:
                size, at = _varint(data, at)
            elif way == _EIGHT_BYTES:
                size = 8
            elif way == _FOUR_BYTES:
                size = 4
            else:
                msg = f"a field is written in way {way}, which no xplane has"
                raise ValueError(msg)
            value, at = data[at : at + size], at + size
        if at > end:
            msg = "a field is longer than what holds it"
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
        msg = "a number stands where something with parts was expected"
        raise ValueError(msg)  # noqa: TRY004 - wrong bytes, not a wrong call
    return value


def _integer(value: Field) -> int:
    if isinstance(value, int):
        return value
    msg = "something with parts stands where a number was expected"
    raise ValueError(msg)


def _text(value: Field) -> str:
    return str(_bytes(value), "utf-8", "replace")
