"""Reads and resets this process's memory statistics."""

import contextlib
import ctypes
import gc
import re
import resource
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from perfledger.meters import child_processes

STATUS = Path("/proc/self/status")
STATM = Path("/proc/self/statm")
CLEAR_REFS = Path("/proc/self/clear_refs")
OOM_SCORE = Path("/proc/self/oom_score_adj")
RESET_PEAK = "5"  # proc(5): sets the high-water mark to the current resident size
MAPS = Path("/proc/self/maps")
PAGEMAP = Path("/proc/self/pagemap")
# Bytes of an entry of a process's page map, and the byte with its flags. The last byte of an entry
# of 8, Documentation/admin-guide/mm/pagemap.rst: bit 7 of it says that the page is in memory, bit 5
# that it is a file's, not a private copy.
ENTRY_BYTES, LAST_BYTE = 8, 7
IN_FILE = re.compile(rb"[\xa0-\xbf\xe0-\xff]+")
# MADV_POPULATE_READ and MADV_POPULATE_WRITE, Linux 5.14: map, and copy, pages in advance.
POPULATE_READ, POPULATE_WRITE = 22, 23
HEAD_BYTES = 16  # before an object: CPython's collector writes there (PyGC_Head)
FIRST_TO_KILL = "1000"  # proc(5): the kernel then kills the workload, not the agent


def reset_peak(path: Path = CLEAR_REFS) -> None:
    """Reset the high-water mark; without kernel support the process's own mark remains."""
    with contextlib.suppress(OSError):
        path.write_text(RESET_PEAK, encoding="ascii")


def peak_bytes(path: Path = STATUS) -> int:
    """Return the peak memory in bytes since `reset_peak`, plus what child processes use now.

    A step that keeps its data in a pool of processes needs that memory too.
    """
    return _own_peak_bytes(path) + child_processes.memory_bytes()


def _own_peak_bytes(path: Path) -> int:
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024  # getrusage(2): bytes there, else KiB


def in_use_bytes(path: Path = STATM) -> float | None:
    """Return the resident memory in bytes; None if the system does not report it."""
    try:
        return float(int(path.read_bytes().split()[1]) * resource.getpagesize())
    except (OSError, ValueError, IndexError):
        return None


def give_back() -> None:
    """Collect garbage and return free memory to the system for the next workload."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc has malloc_trim; others do not
        ctypes.CDLL(None).malloc_trim(0)


PageRanges = tuple[tuple[int, int], ...]  # address and length in bytes


def file_pages() -> PageRanges:
    """Return the pages of files that are mapped here; none if the system does not report them."""
    page = resource.getpagesize()
    ranges: list[tuple[int, int]] = []
    with contextlib.suppress(OSError, ValueError), PAGEMAP.open("rb", buffering=0) as entries:
        for start, end in _file_mappings():
            entries.seek(start // page * ENTRY_BYTES)
            last_bytes = entries.read((end - start) // page * ENTRY_BYTES)[LAST_BYTE::ENTRY_BYTES]
            ranges += (
                (start + run.start() * page, (run.end() - run.start()) * page)
                for run in IN_FILE.finditer(last_bytes)
            )
    return tuple(ranges)


def object_pages() -> PageRanges:
    """Return the pages that a collection of garbage writes to."""
    page = resource.getpagesize()
    numbers = sorted({(id(each) - HEAD_BYTES) // page for each in gc.get_objects()})
    # In a run of consecutive pages, the page's number minus its place in the order is constant.
    runs = (
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    )
    return tuple((run[0] * page, len(run) * page) for run in runs)


def map_pages(ranges: PageRanges) -> None:
    """Map the pages that the parent of this fork had mapped.

    A fork on Linux copies the mappings of a file but not its pages: code of libraries would not
    count as resident memory until this process runs it. Before Linux 5.14 this does nothing.
    """
    _advise(ranges, POPULATE_READ)


def copy_objects(ranges: PageRanges) -> None:
    """Make this fork's own copies of the pages with its parent's objects.

    The kernel would copy them when the first collection of garbage writes to them, in a measured
    step. A collection here copies them too, but takes three times as long: it is made only before
    Linux 5.14.
    """
    if not _advise(ranges, POPULATE_WRITE):
        give_back()


def _advise(ranges: PageRanges, advice: int) -> bool:
    """Give the kernel this advice on pages; return whether it took any."""
    is_taken = False
    with contextlib.suppress(OSError, AttributeError):
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        for start, length in ranges:
            is_taken |= madvise(start, length, advice) == 0
    return is_taken


def _file_mappings() -> Iterator[tuple[int, int]]:
    """Yield the first address and the end of each mapping of a file."""
    for line in MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, _, _, _, inode = line.split(maxsplit=5)[:5]
        if inode != "0":
            start, end = addresses.split("-")
            yield int(start, 16), int(end, 16)


def mark_for_oom_kill(path: Path = OOM_SCORE) -> None:
    """Ask the kernel to kill this process first when memory runs out."""
    with contextlib.suppress(OSError):
        path.write_text(FIRST_TO_KILL, encoding="ascii")
