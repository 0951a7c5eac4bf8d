"""Measures how busy other programs keep the cores that a check may use.

/proc/loadavg does not answer this: it includes the check's own processes, looks back a minute, and
inside a container counts the host's. Here, the busy time of the usable cores minus that of the
check's own processes is the others' time, whether or not their processes are visible.
"""

import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles, count, read_text
from perfledger_runners.safe_text import clean_text

# Of /proc/stat, "cpu0 user nice system idle iowait irq softirq steal": Linux, proc_stat(5). Time of
# guests is in user and nice already.
BUSY_FIELDS, STEAL_FIELD, CORE_FIELDS = (0, 1, 2, 5, 6), 7, 8
# Of /proc/PID/stat, counted after the command's closing bracket: proc_pid_stat(5).
PARENT_FIELD, USER_FIELD, SYSTEM_FIELD, START_FIELD = 1, 11, 12, 19
# Counters advance by hundredths of a second, so half a second gives a share of a core to 2 %.
WINDOW_S = 0.5
LOOKS = 10  # readings of the run queue in that time
MAX_PROGRAMS = 3  # named in a finding
NAMED_CORES = 0.05  # a program that uses less is not named
MAX_NAME = 15  # characters of a command: TASK_COMM_LEN


@dataclass(frozen=True, slots=True)
class CoreTicks:
    """The time of one core so far, in clock ticks."""

    busy: int
    stolen: int  # by other virtual machines
    total: int


@dataclass(frozen=True, slots=True)
class ProcessTicks:
    """The CPU time of one process so far, in clock ticks."""

    name: str
    parent: int
    began: int  # identifies a process, together with its number
    ticks: int


@dataclass(frozen=True, slots=True)
class ForeignProgram:
    """A program outside the check, and how many cores' worth of CPU time it uses."""

    name: str
    cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLoad:
    """How busy the usable cores were with other programs for a moment; None is unknown."""

    usable: frozenset[int]  # numbers of the cores that the check may use
    foreign_cores: float | None = None  # cores' worth of CPU time that others used of these
    stolen_share: float | None = None  # of their time, taken by other virtual machines
    queued_per_core: float | None = None  # tasks of others that run or wait, per core of the host
    busy_shares: Mapping[int, float]  # of each usable core's time, by anyone
    programs: tuple[ForeignProgram, ...] = ()  # the busiest visible here, on all cores
    has_other_cores: bool = False  # besides the usable ones
    hidden_cores: float = 0.0  # part of foreign_cores by no visible program

    @property
    def foreign_share(self) -> float | None:
        """Return the share of the usable cores' time that other programs used."""
        return None if self.foreign_cores is None else self.foreign_cores / len(self.usable)


def usable_core_numbers() -> frozenset[int]:
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux has it
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def read_load(
    files: ProcFiles = THIS_SYSTEM,
    *,
    usable: Collection[int] | None = None,
    ours: int | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> HostLoad:
    """Watch the cores for WINDOW_S; `ours` is the process whose descendants are the check's."""
    cores = frozenset(usable_core_numbers() if usable is None else usable)
    process = os.getpid() if ours is None else ours
    cores_before, before = read_core_ticks(files.proc), read_process_ticks(files.proc)
    queued: list[int] = []
    for _ in range(LOOKS):
        sleep(WINDOW_S / LOOKS)
        running = _running(read_text(files.proc / "stat"))
        queued += [] if running is None else [running]
    cores_after, after = read_core_ticks(files.proc), read_process_ticks(files.proc)
    changes = {
        core: _difference(cores_before[core], cores_after[core])
        for core in sorted(cores & cores_before.keys() & cores_after.keys())
    }
    readings = {core: ticks for core, ticks in changes.items() if ticks.total > 0}
    # One of the running tasks is this reader.
    per_core = max(0.0, fmean(queued) - 1) / len(cores_after) if queued and cores_after else None
    if not readings:
        return HostLoad(usable=cores, queued_per_core=per_core, busy_shares={})
    elapsed = fmean(ticks.total for ticks in readings.values())
    used = _used_cores(before, after, elapsed)
    check = descendants(after, process)
    foreign = {pid: share for pid, share in used.items() if pid not in check}
    busy = {core: ticks.busy / ticks.total for core, ticks in readings.items()}
    # Cores without counters are assumed to be as busy as the others.
    total = fmean(busy.values()) * len(cores)
    foreign_cores = max(0.0, total - sum(used.get(pid, 0.0) for pid in check))
    return HostLoad(
        usable=cores,
        foreign_cores=foreign_cores,
        stolen_share=fmean(ticks.stolen / ticks.total for ticks in readings.values()),
        queued_per_core=per_core,
        busy_shares=busy,
        programs=_busiest(foreign, after),
        has_other_cores=bool(cores_after.keys() - cores),
        hidden_cores=max(0.0, foreign_cores - sum(foreign.values())),
    )


def read_core_ticks(proc: Path) -> dict[int, CoreTicks]:
    """Return the time of each core; empty if the kernel does not report it."""
    ticks: dict[int, CoreTicks] = {}
    for line in read_text(proc / "stat").splitlines():
        name, *fields = line.split()
        core = count(name.removeprefix("cpu"))
        counts = [count(field) for field in fields[:CORE_FIELDS]]
        values = [each for each in counts if each is not None]
        if name.startswith("cpu") and core is not None and len(values) == CORE_FIELDS:
            busy = sum(values[field] for field in BUSY_FIELDS)
            ticks[core] = CoreTicks(busy=busy, stolen=values[STEAL_FIELD], total=sum(values))
    return ticks


def read_process_ticks(proc: Path) -> dict[int, ProcessTicks]:
    """Return the CPU time of every visible process."""
    processes: dict[int, ProcessTicks] = {}
    for folder in proc.glob("[0-9]*"):
        number, process = count(folder.name), _process_ticks(read_text(folder / "stat"))
        if number is not None and process is not None:
            processes[number] = process
    return processes


def descendants(processes: Mapping[int, ProcessTicks], root: int) -> frozenset[int]:
    """Return a process and all its descendants."""
    children: dict[int, list[int]] = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    family, pending = set[int](), [root]
    while pending:
        pid = pending.pop()
        if pid not in family:  # a damaged table may contain a cycle
            family.add(pid)
            pending += children.get(pid, ())
    return frozenset(family)


def _process_ticks(stat: str) -> ProcessTicks | None:
    """Return what /proc/PID/stat says, None if the process has ended or the line is damaged."""
    command, _, rest = stat.rpartition(")")
    fields = rest.split()[: START_FIELD + 1]
    indices = (PARENT_FIELD, START_FIELD, USER_FIELD, SYSTEM_FIELD)
    numbers = [count(fields[index]) for index in indices if index < len(fields)]
    values = [each for each in numbers if each is not None]
    if len(values) < len(indices):
        return None
    parent, began, user, system = values
    name = " ".join(clean_text(command.partition("(")[2]).split())[:MAX_NAME]
    return ProcessTicks(name=name, parent=parent, began=began, ticks=user + system)


def _running(stat: str) -> int | None:
    """Return the number of tasks that run or wait for a core."""
    for line in stat.splitlines():
        if line.startswith("procs_running "):
            return count(line.split()[1])
    return None


def _difference(before: CoreTicks, after: CoreTicks) -> CoreTicks:
    """Return the ticks between two readings; none for a counter that ran backwards."""
    busy, stolen = after.busy - before.busy, after.stolen - before.stolen
    total = after.total - before.total
    is_forward = min(busy, stolen) >= 0 and busy + stolen <= total
    return CoreTicks(busy, stolen, total) if is_forward else CoreTicks(0, 0, 0)


def _used_cores(
    before: Mapping[int, ProcessTicks], after: Mapping[int, ProcessTicks], elapsed: float
) -> dict[int, float]:
    """Return the cores' worth of CPU time of each process between two readings."""
    used: dict[int, float] = {}
    for pid, process in after.items():
        earlier = before.get(pid)
        is_same = earlier is not None and earlier.began == process.began
        since = earlier.ticks if earlier is not None and is_same else 0
        used[pid] = max(0, process.ticks - since) / elapsed
    return used


def _busiest(
    used: Mapping[int, float], processes: Mapping[int, ProcessTicks]
) -> tuple[ForeignProgram, ...]:
    by_name: dict[str, float] = {}
    for pid, cores in used.items():
        name = processes[pid].name
        by_name[name] = by_name.get(name, 0.0) + cores
    ordered = sorted(by_name.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        ForeignProgram(name, cores)
        for name, cores in ordered[:MAX_PROGRAMS]
        if cores >= NAMED_CORES
    )
