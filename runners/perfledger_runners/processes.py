"""A session's number in, its living processes and the memory they hold out; read from /proc."""

import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")
# Kill and look again: a process may fork between the look and the kill.
MAX_SWEEPS = 20
SESSION_FIELD = 3  # of /proc/PID/stat, counted behind the command's closing bracket
STATE_FIELD = 0


def members(session: int, mark: str = "", *, proc: Path = PROC) -> tuple[int, ...]:
    """Return the processes of a session, and those elsewhere that have `mark` in their environment.

    The mark finds daemons: they leave the session, but not what they were started with.
    """
    found: list[int] = []
    for folder in proc.glob("[0-9]*"):
        fields = _read(folder / "stat").rpartition(b")")[2].split()
        if len(fields) <= SESSION_FIELD or fields[STATE_FIELD] == b"Z":
            continue
        is_ours = int(fields[SESSION_FIELD]) == session
        if is_ours or (mark and mark.encode() in _read(folder / "environ").split(b"\0")):
            found.append(int(folder.name))
    return tuple(found)


def kill(session: int, mark: str) -> None:
    """End every process of a session and every one with `mark` in its environment, now."""
    _signal(os.killpg, session)
    own = os.getpid()
    for _ in range(MAX_SWEEPS):
        left = [process for process in members(session, mark) if process != own]
        if not left:
            return
        for process in left:
            _signal(os.kill, process)


def resident_bytes(processes: Iterable[int], *, proc: Path = PROC) -> int:
    """Return the memory the processes hold; pages that several share count once for each."""
    pages = (_read(proc / str(process) / "statm").split() for process in processes)
    return sum(int(fields[1]) for fields in pages if fields) * os.sysconf("SC_PAGESIZE")


def proportional_bytes(processes: Iterable[int], *, proc: Path = PROC) -> int:
    """Return the memory the processes hold, shared pages divided among their holders.

    Slower than resident_bytes by orders of magnitude: for when that says too much.
    """
    total = 0
    for process in processes:
        for line in _read(proc / str(process) / "smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def available_bytes(*, proc: Path = PROC, cgroup: Path = CGROUP) -> int | None:
    """Return the memory that may still be used, in this container; None where nobody knows."""
    amounts = [
        int(line.split()[1]) * 1024
        for line in _read(proc / "meminfo").splitlines()
        if line.startswith(b"MemAvailable:")
    ]
    limit, used = _read(cgroup / "memory.max").strip(), _read(cgroup / "memory.current").strip()
    if limit.isdigit() and used.isdigit():
        amounts.append(int(limit) - int(used))
    return max(min(amounts), 0) if amounts else None


def _signal(send: Callable[[int, int], None], target: int) -> None:
    try:
        send(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return  # gone already, or not ours to end


def _read(path: Path) -> bytes:
    """Return a file of /proc, or nothing: a process may end between any two looks."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
