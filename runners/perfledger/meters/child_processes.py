"""Finds the processes that this one started, with their memory and CPU time."""

import ctypes
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROCESSES = Path("/proc")
TASKS = "task/*/children"
# torch starts these when its cache lacks a program: hundreds of megabytes that no step needs.
COMPILER = b"/torch/_inductor/compile_worker/"
MEMORY_KINDS = ("Anon", "File", "Shmem")  # the kernel's parts of resident memory
# PR_SET_CHILD_SUBREAPER and PR_SET_PDEATHSIG, include/uapi/linux/prctl.h
ADOPT_ORPHANS, END_WITH_PARENT = 36, 1


class ThreadTime(NamedTuple):
    """How long a thread ran, and waited for a core, in seconds, and its state now.

    The state is the letter of /proc/PID/stat: R runs or is ready to.
    """

    ran_s: float
    waited_s: float
    state: str = ""

    @property
    def is_ready(self) -> bool:
        """Return whether the thread runs or waits for a core."""
        return self.state == "R"


ThreadTimes = Mapping[int, ThreadTime]  # by thread


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends, so that daemons count as well.

    Has no effect outside Linux.
    """
    _set(ADOPT_ORPHANS, 1)


def end_with_parent() -> None:
    """Have the kernel kill this process when the thread that started it is gone.

    Otherwise a step that hangs would outlive an agent that was killed, and keep a core or a device
    busy during all later checks. A fork does not inherit it. Has no effect outside Linux.
    """
    _set(END_WITH_PARENT, signal.SIGKILL)


def _set(option: int, value: int) -> None:
    """Set an attribute of this process, if the system has it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value)


def has_children() -> bool:
    """Return whether this process has children that it has not waited for: one call, no file."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def are_children_listed() -> bool:
    """Return whether the kernel lists the children of a process."""
    return (PROCESSES / f"self/task/{os.getpid()}/children").exists()


def descendants(process: str = "self") -> Iterator[int]:
    """Yield the process ids of all descendants of a process."""
    for path in (PROCESSES / process).glob(TASKS):
        with suppress(OSError):  # a thread or a process that ended meanwhile
            for child in path.read_text(encoding="ascii").split():
                yield int(child)
                yield from descendants(child)


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process and all of its threads, including those that ended.

    The number of a process's clock is part of Linux's interface: include/linux/posix-timers_types.h
    has it as MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED).
    """
    with suppress(OSError):
        return time.clock_gettime((~process << 3) | 2)
    return 0.0


def thread_times(process: str = "self", *, without: int | None = None) -> dict[int, ThreadTime]:
    """Return the times of the threads of a process and its descendants, except `without`.

    Linux, Documentation/scheduler/sched-stats.rst: a kernel without these statistics writes zeros.
    """
    times: dict[int, ThreadTime] = {}
    has_others = process != "self" or has_children()
    for each in (process, *map(str, descendants(process) if has_others else ())):
        # Texts and unbuffered files: a Path and a buffer for each thread take three times as long.
        folder = f"{PROCESSES}/{each}/task"
        for thread in _names_in(folder):
            if int(thread) == without:
                continue
            with suppress(OSError, ValueError, IndexError):  # a thread that ended meanwhile
                ran_ns, waited_ns, _ = map(int, _content(f"{folder}/{thread}/schedstat").split())
                # The command before the state may hold any characters, brackets too.
                state = _content(f"{folder}/{thread}/stat").rpartition(b")")[2].split()[0]
                times[int(thread)] = ThreadTime(ran_ns / 1e9, waited_ns / 1e9, state.decode())
    return times


def _content(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a Path takes longer
        return file.read()


def _names_in(folder: str) -> list[str]:
    with suppress(OSError):  # a process that ended meanwhile
        return os.listdir(folder)  # noqa: PTH208 - names, without a Path for each
    return []


def kill_all() -> None:
    """Kill all descendants, including daemons that the agent could not identify as ours."""
    for process in tuple(descendants()):
        with suppress(OSError):  # it ended, or is another user's
            os.kill(process, signal.SIGKILL)


def memory_bytes() -> int:
    """Return the resident memory of descendants now, without what they share with this process.

    A forked process shares its parent's memory until it writes. Processes that compile for torch do
    not count.
    """
    if not has_children():
        return 0
    parent, resident = _sizes("self", "smaps_rollup"), _sizes("self", "status")
    children = [_sizes(str(each), "smaps_rollup") for each in descendants() if not _compiles(each)]
    total = 0
    for kind in MEMORY_KINDS:
        share = f"Pss_{kind}"
        shared = resident.get(f"Rss{kind}", 0) - parent.get(share, 0)
        total += max(0, sum(sizes.get(share, 0) for sizes in children) - max(0, shared))
    return total


def _compiles(process: int) -> bool:
    with suppress(OSError):
        return COMPILER in (PROCESSES / str(process) / "cmdline").read_bytes()
    return False


def _sizes(process: str, name: str) -> dict[str, int]:
    """Return the sizes in bytes that a file of the kernel lists for a process."""
    with suppress(OSError):  # it ended, or is another user's
        text = (PROCESSES / process / name).read_text(encoding="utf-8", errors="replace")
        fields = (line.split() for line in text.splitlines() if line.endswith(" kB"))
        return {each[0].rstrip(":"): int(each[1]) * 1024 for each in fields}
    return {}
