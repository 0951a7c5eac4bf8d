"""Reads how much CPU time and memory the control groups of this process may use (cgroup v1 and v2).

A container sees its own group, or the host's groups and the path of its own; each group above may
limit it further.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from perfledger_runners.machine.proc_files import THIS_SYSTEM, ProcFiles, count, read_text

NO_QUOTA = "max"  # cgroup v2's word; v1 has -1
# Of version 1, where a group may use all memory: the largest multiple of a page is more than this.
ANY_MEMORY = 2**62
FILE_CACHES = ("active_file", "inactive_file")  # of memory.stat; version 1 sums them as total_*
# Of /proc/PID/mountinfo: proc_pid_mountinfo(5). Optional fields end with a dash.
ROOT_FIELD, POINT_FIELD = 3, 4
OPTIONS_AFTER_DASH = 3
MAX_DEPTH = 64  # of nested groups


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupLimits:
    """The narrowest limits on CPU time and memory among the groups of this process."""

    quota_cores: float | None = (
        None  # cores' worth of CPU time; infinite without one; None: unknown
    )
    # The share of the quota's periods so far in which processes had to wait for the next one.
    throttled_share: float | None = None
    # Of the memory that the group with the least left may use, which caches of files do not take;
    # None without a limit.
    free_memory_share: float | None = None
    memory_pressure: Path | None = None  # of this process's own group


@dataclass(frozen=True, slots=True)
class _Mount:
    """A mounted hierarchy: the group at its root, and where it is mounted."""

    kind: str  # cgroup or cgroup2
    controllers: frozenset[str]
    root: str
    point: Path


def read_limits(files: ProcFiles = THIS_SYSTEM) -> CgroupLimits:
    """Return the limits that apply to this process."""
    groups = _groups(read_text(files.proc / "self/cgroup"))
    quotas: list[tuple[float, float | None]] = []
    memory_shares: list[float] = []
    pressure: Path | None = None
    is_known = False
    for mount in _mounts(read_text(files.proc / "self/mountinfo"), files.sys):
        is_unified = mount.kind == "cgroup2"
        kinds = {""} if is_unified else mount.controllers & {"cpu", "memory"} & groups.keys()
        if not kinds <= groups.keys():
            continue
        paths = {kind: tuple(_folders(mount, groups[kind])) for kind in kinds}
        memory_shares += [
            share
            for folder in paths.get("", paths.get("memory", ()))
            if (share := _free_memory_share(folder)) is not None
        ]
        folders = paths.get("", paths.get("cpu", ()))
        # If a hierarchy of version 1 has the CPU controller, the unified one has no controllers.
        is_known |= any((folder / "cgroup.procs").exists() for folder in folders)
        quotas += [quota for folder in folders if (quota := _quota(folder)) is not None]
        if is_unified and (folders[0] / "memory.pressure").exists():
            pressure = folders[0] / "memory.pressure"
    free_memory_share = min(memory_shares, default=None)
    if not is_known:
        return CgroupLimits(free_memory_share=free_memory_share)
    cores, throttled = min(quotas, default=(math.inf, None), key=lambda quota: quota[0])
    return CgroupLimits(
        quota_cores=cores,
        throttled_share=throttled,
        free_memory_share=free_memory_share,
        memory_pressure=pressure,
    )


def _groups(text: str) -> dict[str, str]:
    """Return the path of this process's group by controller; "" is cgroup v2."""
    groups: dict[str, str] = {}
    for line in text.splitlines():
        _, sign, rest = line.partition(":")
        controllers, second, path = rest.partition(":")
        if sign and second:
            groups |= dict.fromkeys(controllers.split(","), path)
    return groups


def _mounts(text: str, sys: Path) -> Iterator[_Mount]:
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, source = before.split(), after.split()
        if len(fields) <= POINT_FIELD or len(source) < OPTIONS_AFTER_DASH:
            continue
        point = PurePosixPath(fields[POINT_FIELD])
        if source[0] in {"cgroup", "cgroup2"} and point.is_relative_to("/sys"):
            yield _Mount(
                kind=source[0],
                controllers=frozenset(source[2].split(",")),
                root=fields[ROOT_FIELD],
                point=sys / point.relative_to("/sys"),
            )


def _folders(mount: _Mount, group: str) -> Iterator[Path]:
    """Yield the folders of a group and of the groups above it, as far as they are mounted."""
    path, root = PurePosixPath(group), PurePosixPath(mount.root)
    inside = path.relative_to(root) if path.is_relative_to(root) else PurePosixPath()
    parts = () if ".." in inside.parts else inside.parts[:MAX_DEPTH]
    for length in range(len(parts), -1, -1):
        yield mount.point.joinpath(*parts[:length])


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


def _free_memory_share(folder: Path) -> float | None:
    """Return the share of a group's memory limit that programs may still use; None without one.

    The kernel gives caches of files back when programs need memory.
    """
    limit = count(read_text(folder / "memory.max") or read_text(folder / "memory.limit_in_bytes"))
    used = count(
        read_text(folder / "memory.current") or read_text(folder / "memory.usage_in_bytes")
    )
    if not limit or limit >= ANY_MEMORY or used is None:
        return None
    fields = dict(
        line.split()[:2]
        for line in read_text(folder / "memory.stat").splitlines()
        if len(line.split()) > 1
    )
    caches = sum(
        count(fields.get(f"total_{name}", fields.get(name, ""))) or 0 for name in FILE_CACHES
    )
    return min(1.0, max(0.0, (limit - used + caches) / limit))
