"""Turn the allocator's record into a line of memory over time that is short enough to draw."""

from collections.abc import Iterator

import numpy as np

from perfledger.profile import MemoryPoint
from perfledger_profiles.spans import NOBODY, IntArray, Segments
from perfledger_profiles.trace import MemoryInstants

# A picture is about a thousand pixels wide.
MAX_POINTS = 500

_NS = 1e9


def memory_points(memory: MemoryInstants, windows: Segments) -> tuple[MemoryPoint, ...]:
    """Return the memory in use in the kept steps, device by device, at most MAX_POINTS in all.

    Of each stretch of time the highest point is kept, so that no peak is lost. What was not
    recorded is no point; of more devices than points those that use most are kept.
    """
    kept = (windows.at(memory.time_ns) != NOBODY) & (memory.allocated_bytes >= 0)
    peak = np.zeros(len(memory.devices), dtype=np.int64)
    np.maximum.at(peak, memory.device[kept], memory.allocated_bytes[kept])
    used = np.unique(memory.device[kept])
    devices = used[np.argsort(-peak[used], kind="stable")[:MAX_POINTS]].tolist()
    return tuple(
        point
        for device in devices
        for point in _points(
            memory,
            np.flatnonzero(kept & (memory.device == device)),
            most=MAX_POINTS // len(devices),
            begin_ns=int(windows.start_ns[0]),
        )
    )


def _points(
    memory: MemoryInstants, mine: IntArray, *, most: int, begin_ns: int
) -> Iterator[MemoryPoint]:
    mine = mine[np.argsort(memory.time_ns[mine], kind="stable")]
    for stretch in np.array_split(mine, min(most, mine.size)):
        highest = stretch[np.argmax(memory.allocated_bytes[stretch])]
        reserved = int(memory.reserved_bytes[highest])
        yield MemoryPoint(
            seconds=int(memory.time_ns[highest] - begin_ns) / _NS,
            allocated_bytes=float(memory.allocated_bytes[highest]),
            reserved_bytes=float(reserved) if reserved > 0 else None,
            device=memory.devices[int(memory.device[highest])],
        )
