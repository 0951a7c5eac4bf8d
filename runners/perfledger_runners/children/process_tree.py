"""Finds, measures and kills the processes of a session, from /proc."""

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from perfledger.meters.child_processes import descendants
from perfledger_runners.control_groups import group_memories
from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles

PROC = Path("/proc")
# Killing is repeated, because a process may fork between the listing and the kill.
MAX_SWEEPS = 20
SESSION_FIELD = 3  # fields of /proc/PID/stat, counted after the command's closing bracket
STATE_FIELD = 0


def members(session: int | None, mark: str = "", *, proc: Path = PROC) -> tuple[int, ...]:
    """Return the processes of a session, if known, and others with `mark` in their environment.

    The mark finds daemons, which leave the session but keep their environment.
    """
    processes: list[int] = []
    for folder in proc.glob("[0-9]*"):
        fields = _read(folder / "stat").rpartition(b")")[2].split()
        if len(fields) <= SESSION_FIELD or fields[STATE_FIELD] == b"Z":
            continue
        is_ours = int(fields[SESSION_FIELD]) == session
        if is_ours or (mark and mark.encode() in _read(folder / "environ").split(b"\0")):
            processes.append(int(folder.name))
    return tuple(processes)


def kill(session: int | None, mark: str) -> None:
    """Kill every process of a session, every process with `mark` in its environment, and theirs.

    A daemon without the mark is a descendant of the harness, which adopts it, until that is killed.
    """
    for _ in range(MAX_SWEEPS):
        left = _family(session, mark)
        if not left:
            return
        if session is not None:
            _signal(os.killpg, session)
        for process in left:
            _signal(os.kill, process)


def _family(session: int | None, mark: str) -> set[int]:
    """Return the members of a session and their descendants, without this process."""
    family = {process for process in members(session, mark) if process != os.getpid()}
    return family.union(*(descendants(str(process)) for process in family))


def resident_bytes(processes: Iterable[int]) -> int:
    """Return the processes' memory; shared pages count once per process."""
    pages = (_read(PROC / str(process) / "statm").split() for process in processes)
    return sum(int(fields[1]) for fields in pages if fields) * os.sysconf("SC_PAGESIZE")


def proportional_bytes(processes: Iterable[int]) -> int:
    """Return the processes' memory, with shared pages divided among them.

    This is orders of magnitude slower than resident_bytes, which overestimates.
    """
    total = 0
    for process in processes:
        for line in _read(PROC / str(process) / "smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def available_bytes(files: ProcFiles = THIS_SYSTEM) -> int | None:
    """Return the memory that the host and this process's groups have left, None if unknown."""
    amounts = [
        int(line.split()[1]) * 1024
        for line in _read(files.proc / "meminfo").splitlines()
        if line.startswith(b"MemAvailable:")
    ]
    amounts += (memory.available for memory in group_memories(files))
    return max(min(amounts), 0) if amounts else None


def _signal(send: Callable[[int, int], None], target: int) -> None:
    try:
        send(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # already gone, or another user's


def _read(path: Path) -> bytes:
    """Return a file of /proc, empty if the process has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
