"""Extracts the memory in use from the allocator events of an XLA profile."""

import re
from collections.abc import Sequence

import numpy as np

from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.trace import MAX_COUNT, UNKNOWN, MemoryInstants
from perfledger_profiles.xla.planes import XEvent, XLine

# After each allocation and release the allocator reports the memory in use (TSL's BFC allocator and
# the TPU's; xprof's xplane_to_memory_profile.cc reads the same events).
EVENTS = frozenset({"MemoryAllocation", "MemoryDeallocation"})
_ALLOCATOR = "allocator_name"
_NUMBERS = ("index_on_host", "device_ordinal")
# Memory of the program (such as its stack) and of its buffers; their sum is in use.
_IN_USE = ("bytes_reserved", "bytes_allocated")
STATS = frozenset({_ALLOCATOR, *_NUMBERS, *_IN_USE})

# "gpu_host_bfc", "xla_cpu_allocator": these allocate host memory.
_ON_HOST = re.compile(r"(?i)host|cpu")


def recorded_memory(lines: Sequence[XLine], devices: Sequence[str]) -> MemoryInstants:
    """Return the memory in use after each allocation and release, by allocator.

    `devices` maps the devices' numbers on the host to their names. An allocator's events are spread
    over several threads, so the record is sorted by time.
    """
    events = sorted(
        (event for line in lines for event in line.events if event.name in EVENTS),
        key=lambda event: event.start_ns,
    )
    names = [_allocator(event, devices) for event in events]
    places = {name: index for index, name in enumerate(dict.fromkeys(names))}
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
    numbers = (event.stats.get(stat) for stat in _NUMBERS)
    number = next((each for each in numbers if isinstance(each, int)), None)
    if number is None:
        return "device"
    return devices[number] if 0 <= number < len(devices) else f"device {number}"


def _in_use(event: XEvent) -> int:
    reserved, allocated = (event.stats.get(stat) for stat in _IN_USE)
    if not isinstance(allocated, int):
        return UNKNOWN
    total = allocated + (reserved if isinstance(reserved, int) else 0)
    return total if 0 <= total < MAX_COUNT else UNKNOWN
