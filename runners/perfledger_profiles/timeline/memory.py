"""Reduces the allocator's record to a memory timeline short enough to draw."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from perfledger.profile import MemoryPoint, ProfileReading
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.intervals import NO_CALL, BoolArray, IntArray, TimeSegments
from perfledger_profiles.timeline.trace import MAX_COUNT, UNKNOWN, MemoryInstants

# torch 1.8 to 1.11 record the "Bytes" of each allocation and release, but no totals.
ONLY_CHANGES = (
    "only changes of memory were recorded: memory in use is counted from its minimum in this file"
)

# A picture is about a thousand pixels wide.
MAX_POINTS = 500


def memory_points(memory: MemoryInstants, windows: TimeSegments) -> tuple[MemoryPoint, ...]:
    """Return the memory in use in the kept steps by device, at most MAX_POINTS in total.

    Each stretch of time keeps its highest point and its highest reserved memory, so no peak of
    either is lost. The memory in use when the steps begin is the last value before them. Unrecorded
    values give no point; if there are more devices than points, those that use most are kept.
    """
    is_known = memory.allocated_bytes >= 0
    is_in_step = (windows.at(memory.time_ns) != NO_CALL) & is_known
    begin_ns = int(windows.start_ns[0]) if windows.start_ns.size else 0
    before = is_known & (memory.time_ns < begin_ns)
    peak = np.zeros(len(memory.devices), dtype=np.int64)
    np.maximum.at(peak, memory.device[is_in_step], memory.allocated_bytes[is_in_step])
    used = np.unique(memory.device[is_in_step])
    devices = used[np.argsort(-peak[used], kind="stable")[:MAX_POINTS]].tolist()
    return tuple(
        point
        for device in devices
        for point in _points(
            memory,
            _by_time(memory, before & (memory.device == device))[-1:],
            _by_time(memory, is_in_step & (memory.device == device)),
            most=MAX_POINTS // len(devices),
            begin_ns=begin_ns,
        )
    )


def totals_from_changes(memory: MemoryInstants, changed_bytes: IntArray) -> MemoryInstants:
    """Return the record with totals summed from its changes (at least one), by device.

    The memory in use when the profiler began is unknown but never negative, so the smallest sum
    counts as zero and all others are lower bounds.
    """
    order = np.lexsort((memory.time_ns, memory.device))
    changed = changed_bytes[order].astype(np.float64)  # sums of whole numbers might overflow
    first = np.flatnonzero(np.diff(memory.device[order], prepend=NO_CALL))
    length = np.diff(np.append(first, order.size))
    total = np.cumsum(changed)
    total -= np.repeat(total[first] - changed[first], length)
    total -= np.repeat(np.minimum(np.minimum.reduceat(total, first), 0.0), length)
    is_sound = (total >= 0) & (total < MAX_COUNT)
    allocated = np.full(changed_bytes.shape, UNKNOWN, dtype=np.int64)
    allocated[order[is_sound]] = total[is_sound].astype(np.int64)
    return replace(memory, allocated_bytes=allocated, is_lower_bound=True)


def memory_readings(points: Sequence[MemoryPoint]) -> Iterator[ProfileReading]:
    """Yield the most memory that each device's allocator allocated and reserved in kept steps."""
    for device in dict.fromkeys(point.device for point in points):
        mine = [point for point in points if point.device == device]
        peak = max(mine, key=lambda point: point.allocated_bytes)
        yield ProfileReading(
            name="peak_mem_allocated",
            value=peak.allocated_bytes,
            unit="B",
            subject=device,
            source="highest use after an allocation in the kept steps",
            is_estimate=peak.is_lower_bound,
        )
        reserved = [point.reserved_bytes for point in mine if point.reserved_bytes is not None]
        if reserved:
            yield ProfileReading(
                name="peak_mem_reserved",
                value=max(reserved),
                unit="B",
                subject=device,
                source="most memory reserved by the allocator in the kept steps",
            )


def _by_time(memory: MemoryInstants, chosen: BoolArray) -> IntArray:
    mine = np.flatnonzero(chosen)
    return mine[np.argsort(memory.time_ns[mine], kind="stable")]


def _points(
    memory: MemoryInstants, before: IntArray, in_step: IntArray, *, most: int, begin_ns: int
) -> Iterator[MemoryPoint]:
    mine = np.concatenate([before, in_step])
    for stretch in np.array_split(mine, min(most, mine.size)):
        highest = stretch[np.argmax(memory.allocated_bytes[stretch])]
        reserved = int(memory.reserved_bytes[stretch].max())
        yield MemoryPoint(
            seconds=max(int(memory.time_ns[highest] - begin_ns), 0) / NS_PER_S,
            allocated_bytes=float(memory.allocated_bytes[highest]),
            reserved_bytes=float(reserved) if reserved > 0 else None,
            device=memory.devices[int(memory.device[highest])],
            is_lower_bound=memory.is_lower_bound,
        )
