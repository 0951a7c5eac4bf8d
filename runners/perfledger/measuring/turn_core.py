"""Tells which cores a process uses, and moves it to the one where the other side ran last.

Two cores of one machine may differ: another virtual machine that uses the other half of a physical
core takes up to half of its speed. Each side would stay on the core where it first ran, and such a
core would make one side slower in all of its turns.
"""

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

TASKS = Path("/proc/self/task")  # Linux: a folder for each thread of this process
THREAD_STAT = Path("/proc/thread-self/stat")  # Linux: proc_pid_stat(5)
CORE_FIELD = 36  # "processor", counted after the command's closing bracket

ReadCores = Callable[[int], Collection[int]]
KeepTo = Callable[[int, Collection[int]], None]
READ_CORES: ReadCores | None = getattr(os, "sched_getaffinity", None)  # Linux has it
KEEP_TO: KeepTo | None = getattr(os, "sched_setaffinity", None)


def usable_cores(read_cores: ReadCores | None = READ_CORES, tasks: Path = TASKS) -> int:
    """Return the number of cores that threads of this process may use, of all if unknown.

    Libraries may keep each of their threads to a core of its own.
    """
    if read_cores is None:
        return os.cpu_count() or 1
    cores = set(read_cores(0))
    with suppress(OSError):
        threads = [int(each.name) for each in tasks.iterdir()]
        for thread in threads:
            with suppress(OSError):  # it has ended
                cores.update(read_cores(thread))
    return len(cores)


def current_core(stat: Path = THREAD_STAT) -> int | None:
    """Return the number of the core on which this thread runs, None if it is unknown."""
    try:
        fields = stat.read_bytes().rpartition(b")")[2].split()
        return int(fields[CORE_FIELD])
    except (OSError, ValueError, IndexError):
        return None


def move_to_core(
    core: int,
    *,
    read_cores: ReadCores | None = READ_CORES,
    keep_to: KeepTo | None = KEEP_TO,
    stat: Path = THREAD_STAT,
) -> None:
    """Continue this thread on a core, if it may use it, and without keeping it there.

    The scheduler leaves it there while the core has no other work. Threads that a step starts may
    use all cores as before.
    """
    if read_cores is None or keep_to is None or current_core(stat) == core:
        return
    cores = read_cores(0)
    if core not in cores:
        return
    with suppress(OSError):  # the set changed in between, or a sandbox forbids it
        try:
            keep_to(0, {core})
        finally:
            keep_to(0, cores)
