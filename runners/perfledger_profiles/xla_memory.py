"""Turn what XLA's allocators say among the host's events into a record of memory in use."""

import re
from collections.abc import Sequence

import numpy as np

from perfledger_profiles.planes import Stat, XEvent, XLine
from perfledger_profiles.redact import clean_name
from perfledger_profiles.trace import MAX_COUNT, UNKNOWN, MemoryInstants

# An allocation and a release: after each, its allocator says what is in use (TSL's BFC allocator
# and the TPU's; xprof's xplane_to_memory_profile.cc reads the same).
EVENTS = frozenset({"MemoryAllocation", "MemoryDeallocation"})
_ALLOCATOR = "allocator_name"
_NUMBERS = ("index_on_host", "device_ordinal")
# Of the program itself, such as its stack, and of its buffers: in use is both.
_IN_USE = ("bytes_reserved", "bytes_allocated")
STATS = frozenset({_ALLOCATOR, *_NUMBERS, *_IN_USE})

# "gpu_host_bfc", "xla_cpu_allocator": what these give out is the host's memory.
_ON_HOST = re.compile(r"(?i)host|cpu")


def recorded_memory(lines: Sequence[XLine], devices: Sequence[str]) -> MemoryInstants:
    """Return what was in use after each allocation and release, allocator by allocator.

    `devices` are the names of the devices by their numbers on the host. A whole allocator's line
    rises and falls over several threads: the record is in the order of time.
    """
    events = sorted(
        (event for line in lines for event in line.events if event.name in EVENTS),
        key=lambda event: event.start_ns,
    )
    names = [_allocator(event, devices) for event in events]
    places = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return MemoryInstants(
        time_ns=np.array([event.start_ns for event in events], dtype=np.int64),
        allocated_bytes=np.array([_in_use(event) for event in events], dtype=np.int64),
        reserved_bytes=np.full(len(events), UNKNOWN, dtype=np.int64),
        device=np.array([places[name] for name in names], dtype=np.int64),
        devices=tuple(places),
    )


def _allocator(event: XEvent, devices: Sequence[str]) -> str:
    name = event.stats.get(_ALLOCATOR)
    if isinstance(name, str) and name:
        clean = clean_name(name)
        return f"cpu ({clean})" if _ON_HOST.search(clean) else clean
    found = (event.stats.get(stat) for stat in _NUMBERS)
    number = next((each for each in found if isinstance(each, int)), None)
    if number is None:
        return "device"
    return devices[number] if 0 <= number < len(devices) else f"device {number}"


def _in_use(event: XEvent) -> int:
    reserved, allocated = (event.stats.get(stat) for stat in _IN_USE)
    if not isinstance(allocated, int):
        return UNKNOWN
    total = allocated + _whole(reserved)
    return total if 0 <= total < MAX_COUNT else UNKNOWN


def _whole(stat: Stat | None) -> int:
    return stat if isinstance(stat, int) else 0
