"""Reads how much CPU time and memory the control groups of this process may use."""

import math
from dataclasses import dataclass
from pathlib import Path

from perfledger_runners.control_groups import group_hierarchies, group_memories
from perfledger_runners.proc_files import THIS_SYSTEM, ProcFiles, count, read_text

NO_QUOTA = "max"  # cgroup v2's word; v1 has -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimits:
    """The narrowest limits on CPU time and memory among the groups of this process."""

    # Cores' worth of CPU time, infinite without a quota; None if it is unknown.
    quota_cores: float | None = None
    # The share of the quota's periods so far in which processes had to wait for the next one.
    throttled_share: float | None = None
    # Of the group with the least left: the share of its memory that is not taken by programs;
    # None without a limit.
    free_memory_share: float | None = None
    memory_pressure: Path | None = None  # of this process's own group


def read_limits(files: ProcFiles = THIS_SYSTEM) -> CgroupLimits:
    """Return the limits that apply to this process."""
    quotas: list[tuple[float, float | None]] = []
    pressure: Path | None = None
    is_known = False
    for hierarchy in group_hierarchies(files):
        folders = hierarchy.folders if hierarchy.has("cpu") else ()
        # If a hierarchy of version 1 has the CPU controller, the unified one has no controllers.
        is_known |= any((folder / "cgroup.procs").exists() for folder in folders)
        quotas += [quota for folder in folders if (quota := _quota(folder)) is not None]
        if hierarchy.is_unified and (hierarchy.folders[0] / "memory.pressure").exists():
            pressure = hierarchy.folders[0] / "memory.pressure"
    shares = (memory.available / memory.limit for memory in group_memories(files))
    free_memory_share = min(shares, default=None)
    if not is_known:
        return CgroupLimits(free_memory_share=free_memory_share)
    cores, throttled = min(quotas, default=(math.inf, None), key=lambda quota: quota[0])
    return CgroupLimits(
        quota_cores=cores,
        throttled_share=throttled,
        free_memory_share=free_memory_share,
        memory_pressure=pressure,
    )


def _quota(folder: Path) -> tuple[float, float | None] | None:
    """Return a group's quota in cores and the share of throttled periods; None without one."""
    quota_text, _, period_text = read_text(folder / "cpu.max").partition(" ")
    if not quota_text:
        quota_text = read_text(folder / "cpu.cfs_quota_us")
        period_text = read_text(folder / "cpu.cfs_period_us")
    quota, period = count(quota_text), count(period_text)
    if quota_text == NO_QUOTA or not quota or not period:
        return None
    return quota / period, _throttled_share(read_text(folder / "cpu.stat"))


def _throttled_share(text: str) -> float | None:
    fields = dict(line.split()[:2] for line in text.splitlines() if len(line.split()) > 1)
    periods, throttled = (count(fields.get(key, "")) for key in ("nr_periods", "nr_throttled"))
    if not periods or throttled is None:
        return None
    return min(1.0, throttled / periods)
