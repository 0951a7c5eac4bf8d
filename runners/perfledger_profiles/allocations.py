"""Turn the allocator's record into a line of memory over time that is short enough to draw."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from perfledger.profile import MemoryPoint, Reading
from perfledger_profiles.spans import NOBODY, BoolArray, IntArray, Segments
from perfledger_profiles.trace import MAX_COUNT, UNKNOWN, MemoryInstants

# torch 1.8 to 1.11 say "Bytes" of each allocation and release, and no totals.
ONLY_CHANGES = (
    "only changes of memory were recorded: what was in use is counted from its least in this file"
)

# A picture is about a thousand pixels wide.
MAX_POINTS = 500

_NS = 1e9


def memory_points(memory: MemoryInstants, windows: Segments) -> tuple[MemoryPoint, ...]:
    """Return the memory in use in the kept steps, device by device, at most MAX_POINTS in all.

    Of each stretch of time the highest point is kept, with the most that was held in it, so that no
    peak of either is lost. What is in use when the steps begin was said before them. What was not
    recorded is no point; of more devices than points those that use most are kept.
    """
    is_known = memory.allocated_bytes >= 0
    kept = (windows.at(memory.time_ns) != NOBODY) & is_known
    begin_ns = int(windows.start_ns[0]) if windows.start_ns.size else 0
    before = is_known & (memory.time_ns < begin_ns)
    peak = np.zeros(len(memory.devices), dtype=np.int64)
    np.maximum.at(peak, memory.device[kept], memory.allocated_bytes[kept])
    used = np.unique(memory.device[kept])
    devices = used[np.argsort(-peak[used], kind="stable")[:MAX_POINTS]].tolist()
    return tuple(
        point
        for device in devices
        for point in _points(
            memory,
            _by_time(memory, before & (memory.device == device))[-1:],
            _by_time(memory, kept & (memory.device == device)),
            most=MAX_POINTS // len(devices),
            begin_ns=begin_ns,
        )
    )


def counted_from_least(memory: MemoryInstants, changed_bytes: IntArray) -> MemoryInstants:
    """Return the record with totals that are summed from its changes, one at least, by device.

    What was in use when the profiler began is not known, but it was never less than nothing: so
    the least sum counts as zero, and all others are what was in use at least.
    """
    order = np.lexsort((memory.time_ns, memory.device))
    changed = changed_bytes[order].astype(np.float64)  # sums of whole numbers might overflow
    first = np.flatnonzero(np.diff(memory.device[order], prepend=NOBODY))
    length = np.diff(np.append(first, order.size))
    total = np.cumsum(changed)
    total -= np.repeat(total[first] - changed[first], length)
    total -= np.repeat(np.minimum(np.minimum.reduceat(total, first), 0.0), length)
    is_sound = (total >= 0) & (total < MAX_COUNT)
    allocated = np.full(changed_bytes.shape, UNKNOWN, dtype=np.int64)
    allocated[order[is_sound]] = total[is_sound].astype(np.int64)
    return replace(memory, allocated_bytes=allocated, is_lower_bound=True)


def memory_readings(points: Sequence[MemoryPoint]) -> Iterator[Reading]:
    """Yield the most that each device's allocator gave out, and held, in the kept steps."""
    for device in dict.fromkeys(point.device for point in points):
        mine = [point for point in points if point.device == device]
        peak = max(mine, key=lambda point: point.allocated_bytes)
        yield Reading(
            name="peak_mem_allocated",
            value=peak.allocated_bytes,
            unit="B",
            subject=device,
            source="the most in use after an allocation of the kept steps",
            is_estimate=peak.is_lower_bound,
        )
        held = [point.reserved_bytes for point in mine if point.reserved_bytes is not None]
        if held:
            yield Reading(
                name="peak_mem_reserved",
                value=max(held),
                unit="B",
                subject=device,
                source="the most that the allocator held in the kept steps",
            )


def _by_time(memory: MemoryInstants, chosen: BoolArray) -> IntArray:
    mine = np.flatnonzero(chosen)
    return mine[np.argsort(memory.time_ns[mine], kind="stable")]


def _points(
    memory: MemoryInstants, before: IntArray, kept: IntArray, *, most: int, begin_ns: int
) -> Iterator[MemoryPoint]:
    mine = np.concatenate([before, kept])
    for stretch in np.array_split(mine, min(most, mine.size)):
        highest = stretch[np.argmax(memory.allocated_bytes[stretch])]
        reserved = int(memory.reserved_bytes[stretch].max())
        yield MemoryPoint(
            seconds=max(int(memory.time_ns[highest] - begin_ns), 0) / _NS,
            allocated_bytes=float(memory.allocated_bytes[highest]),
            reserved_bytes=float(reserved) if reserved > 0 else None,
            device=memory.devices[int(memory.device[highest])],
            is_lower_bound=memory.is_lower_bound,
        )
