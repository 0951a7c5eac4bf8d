"""Formats an event's recorded inputs as one line: "float[8,3,32,32] float[64]"."""

from collections.abc import Iterator

import msgspec

from perfledger_profiles.parsing.chrome_trace_events import UNREADABLE
from perfledger_profiles.parsing.safe_names import clean_name

MAX_SHAPES = 200  # characters of one operation's shapes


def shapes_of(dims: bytes, types: bytes) -> str:
    """Return the inputs that have a shape, in order, or "" if none is recorded.

    Both arguments are JSON as written by the profiler: a list of sizes and a list of names.
    """
    return " ".join(_tensors(dims, types))[:MAX_SHAPES]


def _tensors(dims: bytes, types: bytes) -> Iterator[str]:
    try:
        sizes = msgspec.json.decode(dims, type=list[msgspec.Raw])
        names = msgspec.json.decode(types, type=list[str]) if types else []
    except UNREADABLE:
        return
    for index, size in enumerate(sizes):
        dimensions = "".join(bytes(size).decode(errors="replace").split())
        if dimensions.startswith("[") and dimensions != "[]":
            name = names[index] if index < len(names) else ""
            yield clean_name(name.removeprefix("c10::") + dimensions)
