"""Reads and resets this process's memory statistics."""

import contextlib
import ctypes
import gc
import resource
import sys
from pathlib import Path

from perfledger.meters import child_processes

STATUS = Path("/proc/self/status")
STATM = Path("/proc/self/statm")
CLEAR_REFS = Path("/proc/self/clear_refs")
OOM_SCORE = Path("/proc/self/oom_score_adj")
RESET_PEAK = "5"  # proc(5): sets the high-water mark to the current resident size
FIRST_TO_KILL = "1000"  # proc(5): the kernel then kills the workload, not the agent


def reset_peak(path: Path = CLEAR_REFS) -> None:
    """Reset the high-water mark; without kernel support the process's own mark remains."""
    with contextlib.suppress(OSError):
        path.write_text(RESET_PEAK, encoding="ascii")


def peak_bytes(path: Path = STATUS) -> int:
    """Return the peak memory in bytes since `reset_peak`, with what child processes use now.

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
    """Return the resident memory in bytes; None where the system does not tell."""
    try:
        return float(int(path.read_bytes().split()[1]) * resource.getpagesize())
    except (OSError, ValueError, IndexError):
        return None


def give_back() -> None:
    """Collect garbage and return free memory to the system for the next workload."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc has malloc_trim; others do not
        ctypes.CDLL(None).malloc_trim(0)


def mark_for_oom_kill(path: Path = OOM_SCORE) -> None:
    """Ask the kernel to kill this process first when memory runs out."""
    with contextlib.suppress(OSError):
        path.write_text(FIRST_TO_KILL, encoding="ascii")
