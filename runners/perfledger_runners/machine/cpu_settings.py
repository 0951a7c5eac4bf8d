"""Reads how the usable cores are set up: frequency, turbo, hardware threads, NUMA nodes."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from perfledger_runners.proc_files import (
    THIS_SYSTEM,
    ProcFiles,
    read_cores,
    read_text,
)

# Where drivers report whether a core may exceed its nominal clock, and the value if it may not:
# Linux, admin-guide/pm/intel_pstate.rst and cpufreq.rst.
TURBO_SWITCHES = (("intel_pstate/no_turbo", "1", "0"), ("cpufreq/boost", "0", "1"))
# The name since Linux 5.1, and the former one.
SIBLING_FILES = ("topology/core_cpus_list", "topology/thread_siblings_list")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSettings:
    """The settings of the usable cores; unknown is None or empty."""

    governors: frozenset[str] = frozenset()
    has_turbo: bool | None = None
    physical_cores: tuple[frozenset[int], ...] = ()  # the hardware threads of each
    nodes: tuple[frozenset[int], ...] = ()  # the cores of each NUMA node that usable ones are on
    isolated: frozenset[int] | None = None  # which the scheduler keeps free, usable or not


def read_cpu_settings(usable: Collection[int], files: ProcFiles = THIS_SYSTEM) -> CpuSettings:
    """Return the settings of the cores that a check may use."""
    cores = frozenset(usable)
    folders = {core: files.cores / f"cpu{core}" for core in sorted(cores)}
    governors = {read_text(folder / "cpufreq/scaling_governor")[:40] for folder in folders.values()}
    threads = {core: _siblings(folder) for core, folder in folders.items()}
    nodes = (read_cores(path / "cpulist") for path in sorted(files.nodes.glob("node[0-9]*")))
    isolated = files.cores / "isolated"
    return CpuSettings(
        governors=frozenset(governors - {""}),
        has_turbo=_has_turbo(files),
        physical_cores=_distinct(threads) if all(threads.values()) else (),
        nodes=tuple(node for node in nodes if node & cores),
        isolated=read_cores(isolated) if isolated.exists() else None,
    )


def _has_turbo(files: ProcFiles) -> bool | None:
    for path, off, on in TURBO_SWITCHES:
        value = read_text(files.cores / path)
        if value in (off, on):
            return value == on
    return None


def _siblings(folder: Path) -> frozenset[int]:
    for name in SIBLING_FILES:
        if cores := read_cores(folder / name):
            return cores
    return frozenset()


def _distinct(threads: dict[int, frozenset[int]]) -> tuple[frozenset[int], ...]:
    return tuple(sorted(set(threads.values()), key=min))
