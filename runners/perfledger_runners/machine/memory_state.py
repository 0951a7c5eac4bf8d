"""Reads how much memory is free, and how long programs wait for it."""

from dataclasses import dataclass
from pathlib import Path

from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles, count, read_text


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryState:
    """The state of the host's memory; None is unknown."""

    available_share: float | None = None
    # The share of the last ten seconds in which some task waited for memory: Linux,
    # accounting/psi.rst.
    stalled_share: float | None = None


def read_memory(
    files: ProcFiles = THIS_SYSTEM,
    *,
    group: Path | None = None,
    group_share: float | None = None,
) -> MemoryState:
    """Return the state of memory.

    `group` is the pressure file of the process's own group, and `group_share` what is free of the
    limit of its groups.
    """
    table = {
        name: count(value.removesuffix("kB").strip())
        for name, sign, value in (
            line.partition(":") for line in read_text(files.proc / "meminfo").splitlines()
        )
        if sign
    }
    total, available = table.get("MemTotal"), table.get("MemAvailable")
    paths = (files.proc / "pressure/memory", *([] if group is None else [group]))
    stalled = [share for path in paths if (share := _stalled_share(read_text(path))) is not None]
    hosts = min(1.0, available / total) if total and available is not None else None
    free = [share for share in (hosts, group_share) if share is not None]
    return MemoryState(
        available_share=min(free, default=None),
        stalled_share=max(stalled, default=None),
    )


def count_memory_kills(files: ProcFiles = THIS_SYSTEM) -> int | None:
    """Return how many programs the kernel has killed for lack of memory since the host started.

    None is unknown. In a container the count is the host's (proc_vmstat(5), `oom_kill`).
    """
    rows = (line.split() for line in read_text(files.proc / "vmstat").splitlines())
    return next((count(row[1]) for row in rows if row[:1] == ["oom_kill"] and row[1:]), None)


def _stalled_share(text: str) -> float | None:
    """Return the "some avg10" of a pressure file as a share."""
    for line in text.splitlines():
        fields = line.split()
        if len(fields) > 1 and fields[0] == "some" and fields[1].startswith("avg10="):
            try:
                share = float(fields[1].removeprefix("avg10=")) / 100
            except ValueError:
                return None
            return share if 0 <= share <= 1 else None
    return None
