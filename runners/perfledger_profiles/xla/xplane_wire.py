"""Decodes the event facts in an xplane.pb file that jax leaves out.

The profiler writes stats shared by all events of one name (FLOPs, bytes, the kind of operation)
once, with the name; jax.profiler.ProfileData returns only the stats of each event. Field numbers
are from tsl/profiler/protobuf/xplane.proto.
"""

import struct
from collections.abc import Collection, Mapping

from perfledger_profiles.xla.planes import Stat, Stats
from perfledger_profiles.xla.protocol_buffer import (
    MAX_VARINT_BITS,
    fields,
    integer,
    message,
    text,
)

# Names per plane: the largest programs have about ten thousand instructions. Python reads
# about fifty thousand names per second.
MAX_NAMES = 100_000

SPACE_PLANES = 1
PLANE_NAME, PLANE_EVENT_NAMES, _PLANE_STAT_NAMES = 2, 4, 5
ENTRY_VALUE = 2
_ID, _NAME, _STATS = 1, 2, 5  # of event metadata; stat metadata has the first two
_STAT_ID, _DOUBLE, _UNSIGNED, _SIGNED, _TEXT, _REFERENCE = 1, 2, 3, 4, 5, 7


def event_stats(
    data: bytes, *, planes: Collection[str], stat_names: Collection[str]
) -> tuple[Mapping[str, Stats], ...]:
    """Return the chosen stats of each plane's event names, plane by plane in file order.

    Only `planes` are decoded; other planes have no stats. A stat in which two events of one name
    differ is left out. Decoding stops at bytes that are not an xplane; the reader of the events
    decides whether that is an error.
    """
    facts: list[Mapping[str, Stats]] = []
    try:
        for number, plane in fields(memoryview(data)):
            if number == SPACE_PLANES:
                facts.append(_plane_facts(message(plane), planes, stat_names))
    except (ValueError, IndexError, struct.error):
        pass  # what came before is intact
    return tuple(facts)


def _plane_facts(
    plane: memoryview, planes: Collection[str], wanted_stats: Collection[str]
) -> Mapping[str, Stats]:
    name = ""
    events: list[memoryview] = []
    stats: list[memoryview] = []
    for number, value in fields(plane):
        if number == PLANE_NAME:
            name = text(value)
        elif number == PLANE_EVENT_NAMES:
            events.append(message(value))
        elif number == _PLANE_STAT_NAMES:
            stats.append(message(value))
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
    key, name = 0, ""
    for number, value in fields(entry):
        if number != ENTRY_VALUE:
            continue
        for part, content in fields(message(value)):
            if part == _ID:
                key = integer(content)
            elif part == _NAME:
                name = text(content)
    return key, name


def _event_name(
    entry: memoryview, stat_names: Mapping[int, str], wanted_stats: Collection[str]
) -> tuple[str, Stats]:
    event = ""
    stats: dict[str, Stat] = {}
    for number, value in fields(entry):
        if number != ENTRY_VALUE:
            continue
        for part, content in fields(message(value)):
            if part == _NAME:
                event = text(content)
            elif part == _STATS:
                name, stat = _stat(message(content), stat_names)
                if stat is not None and name in wanted_stats:
                    stats[name] = stat
    return event, stats


def _stat(data: memoryview, stat_names: Mapping[int, str]) -> tuple[str, Stat | None]:
    name, stat = "", None
    for number, value in fields(data):
        if number == _STAT_ID:
            name = stat_names.get(integer(value), "")
        elif number == _DOUBLE:
            (stat,) = struct.unpack("<d", message(value))
        elif number == _UNSIGNED:
            stat = integer(value)
        elif number == _SIGNED:
            stat = _signed_integer(integer(value))
        elif number == _TEXT:
            stat = text(value)
        elif number == _REFERENCE:
            stat = stat_names.get(integer(value), "")
    return name, stat


def _signed_integer(value: int) -> int:
    """Return a signed 64-bit number from its two's complement."""
    return value - (value >> MAX_VARINT_BITS << MAX_VARINT_BITS + 1)
